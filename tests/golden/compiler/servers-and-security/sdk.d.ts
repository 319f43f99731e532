/** Servers and security 1 */
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
    readonly a: {
      /** GET /private */
      closed(): Promise<unknown>;
      /** GET /optional */
      either(): Promise<unknown>;
      /** GET /public */
      open(): Promise<unknown>;
    };
  }
}
declare const client: sdk.Client;
