/** Cycles 1 */
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
  type Both = { a?: string };
  type Json = string | number | Json[] | { [key: string]: Json };
  type Node = { name: string; parent?: Node; children?: Node[]; by?: { [key: string]: Node } };
  type Ping = unknown;
  type Self = unknown;
  type Tangle = string | number;
  interface Client {
    readonly nodes: {
      /** POST /nodes */
      createNode(args: { name: string; parent?: Node; children?: Node[]; by?: { [key: string]: Node } }): Promise<Node>;
      /** GET /knots */
      getKnot(args?: { self?: Self; ping?: Ping }): Promise<Json>;
      /** PUT /unions */
      putUnion(args: { body: Tangle }): Promise<Both>;
    };
  }
}
declare const client: sdk.Client;
