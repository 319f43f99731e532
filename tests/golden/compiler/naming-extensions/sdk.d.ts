/** Names 1 */
declare namespace sdk {
  /** What a failed call throws: what the API answered. */
  interface ApiError extends Error {
    readonly status: number;
    readonly code: string | null;
    readonly body: unknown;
    readonly requestId: string | null;
  }
  /** An answer that is also its rows, page after page: `for await (const row of client.x.list())`. */
  type Paged<Answer, Row> = Promise<Answer> & AsyncIterable<Row>;
  /** Bytes: base64 text with a media type. */
  type Binary = { base64: string; contentType?: string; filename?: string };
  interface Client {
    readonly _3DModels: {
      /** GET /h */
      _2faCodes(): Promise<unknown>;
    };
    readonly admin: {
      /** GET /d */
      users_(): Promise<unknown>;
      readonly teams: {
        /** GET /b */
        listAll(): Promise<unknown>;
      };
      readonly users: {
        /** GET /a */
        listAPIs(): Promise<unknown>;
      };
    };
    readonly api: {
      /** GET / */
      list(): Promise<unknown>;
    };
    readonly class: {
      /** GET /k */
      delete(): Promise<unknown>;
    };
    readonly constructor_: {
      /** GET /g */
      then_(): Promise<unknown>;
    };
    readonly j: {
      /** GET /j */
      list(): Promise<unknown>;
    };
    readonly ours: {
      /** GET /c */
      first(): Promise<unknown>;
    };
    readonly repos: {
      /** GET /e */
      listForOrg(): Promise<unknown>;
      /** GET /f */
      listForOrgF(): Promise<unknown>;
    };
    readonly widgets: {
      /** POST /v1/widgets */
      create(): Promise<unknown>;
      /** DELETE /v1/widgets/{id} */
      delete(args: { id: string }): Promise<unknown>;
      /** GET /v1/widgets/{id} */
      get(args: { id: string }): Promise<unknown>;
      /** GET /v1/widgets */
      list(): Promise<unknown>;
      /** GET /v1/widgets/{id}/parts */
      listParts(args: { id: string }): Promise<unknown>;
      /** PUT /v1/widgets/{id} */
      replace(args: { id: string }): Promise<unknown>;
      /** PATCH /v1/widgets/{id} */
      update(args: { id: string }): Promise<unknown>;
    };
    readonly "用户": {
      /** GET /i */
      "größe"(): Promise<unknown>;
    };
  }
}
declare const client: sdk.Client;
