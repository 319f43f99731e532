/** Words of 3.1 1 */
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
  type Point = { x: number; y?: number | null; kind?: "a" | null | 1 | true } | null;
  interface Client {
    readonly points: {
      /** A point */
      putPoint(args: { id: string | number; version: 2; pair: [string, number, ...boolean[]]; note: string | null; at?: [number, number]; ratio?: number; labels?: { [key: string]: string }; parent?: Point; never?: never; any?: unknown; icon?: Binary }): Promise<Point>;
    };
  }
}
declare const client: sdk.Client;
