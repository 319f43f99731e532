/** Pages 1 */
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
  type Page = { count: number; next?: string | null } & { results: Row[] };
  type Row = { id: string; note?: string };
  interface Client {
    readonly rows: {
      /** GET /by-cursor */
      byCursor(args?: { cursor?: string }): Paged<{ items: Row[]; meta?: { next_cursor?: string | null }; has_more?: boolean }, Row>;
      /** GET /by-fern */
      byFern(args?: { page_number?: number }): Paged<{ results?: Row[]; more?: boolean }, Row>;
      /** GET /by-last-id */
      byLastId(args?: { starting_after?: string }): Paged<{ data?: Row[]; has_more?: boolean }, Row>;
      /** GET /by-link */
      byLink(args?: { page?: number }): Paged<Row[], Row>;
      /** GET /by-offset */
      byOffset(args?: { offset?: number; limit?: number }): Paged<Row[], Row>;
      /** GET /by-page */
      byPage(args?: { page?: number; per_page?: number }): Paged<Page, Row>;
      /** POST /by-speakeasy */
      bySpeakeasy(args?: { since?: string }): Paged<{ data?: { rows?: Row[] } }, Row>;
      /** GET /not-paged */
      notPaged(args?: { from?: string }): Promise<Row[]>;
    };
  }
}
declare const client: sdk.Client;
