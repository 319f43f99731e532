/** Pet shop 1.2.0 */
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
  type Owner = { email: string };
  type OwnerInput = { email: string; password?: string };
  /** An animal. */
  type Pet = { id: number; name: string; tag?: string; owner?: Owner };
  interface Client {
    readonly health: {
      /** GET /v2/health */
      list(): Promise<unknown>;
    };
    readonly pets: {
      /** Add a pet */
      createPet(args: { name: string; tag?: string; owner?: OwnerInput }): Promise<Pet>;
      /** @deprecated DELETE /pets/{petId} */
      delete(args: { petId: number }): Promise<void>;
      /** One pet */
      get(args: { petId: number }): Promise<Pet>;
      /** List pets */
      listPets(args?: { status?: "available" | "pending" | "sold"; limit?: number }): Promise<Pet[]>;
      /** Change what a pet is called. Nothing else changes. */
      updatePet(args: { petId: number; name?: string; tag?: string }): Promise<Pet>;
    };
    readonly storeOrders: {
      /** GET /store/orders */
      list(): Promise<{ [key: string]: number }>;
    };
  }
}
declare const client: sdk.Client;
