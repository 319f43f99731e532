/** Bodies 1 */
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
    readonly bodies: {
      /** PUT /binary */
      sendBytes(args: { body: Binary }): Promise<{ etag?: string }>;
      /** POST /json/{body} */
      sendChoice(args: { body: string; request_body: string | { a?: number } }): Promise<unknown>;
      /** POST /form */
      sendForm(args: { grant_type: "password"; scope?: string }): Promise<string>;
      /** POST /json */
      sendJson(args: { name: string; kind: "big" | "small"; parts?: { n: number; note?: string }[] }): Promise<{ ok: boolean }>;
      /** PUT /json/list */
      sendList(args: { body: number[] }): Promise<void>;
      /** POST /text */
      sendText(args: { body: string }): Promise<string>;
      /** POST /json/together */
      sendTogether(args?: { email?: string; phone?: string }): Promise<unknown>;
      /** POST /upload/{name} */
      upload(args: { name: string; file: Binary; body_name?: string; more?: Binary[] }): Promise<Binary>;
    };
  }
}
declare const client: sdk.Client;
