/** Headers and cookies 1 */
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
    readonly reports: {
      /** HEAD /reports */
      checkReport(): Promise<void>;
      /** GET /reports */
      getReport(args: { "X-Tenant-Id": string; session?: string; "If-None-Match"?: string; session_cookie?: string }): Promise<Binary>;
    };
  }
}
declare const client: sdk.Client;
