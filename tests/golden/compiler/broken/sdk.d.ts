/** The API */
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
  type Deep = { a?: unknown; b?: unknown; c?: string | null; d?: unknown };
  interface Client {
    readonly mended: {
      /** GET /mended/{a}/{b} */
      get(args: { a: string; b: unknown; e?: unknown; f?: number }): Promise<unknown>;
    };
    readonly noSlash: {
      /** GET /no-slash */
      noSlash(): Promise<Deep>;
    };
    readonly same: {
      /** GET /same */
      noSlash(): Promise<unknown>;
    };
    readonly unknown: {
      /** GET /unknown */
      fine(): Promise<unknown>;
    };
    readonly upper: {
      /** GET /upper */
      upper(): Promise<unknown>;
    };
  }
}
declare const client: sdk.Client;
