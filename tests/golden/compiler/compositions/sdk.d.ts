/** Compositions 1 */
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
  type Animal = Cat & { kind: "cat" | "lion" } | Dog & { kind: "dog" };
  type Base = { id: string; kind?: string };
  type Cat = Base & { lives?: number };
  type Country = "AD" | "AE" | "AF" | "AG" | "AI" | "AL" | "AM" | "AO" | "AQ" | "AR" | "AS" | "AT" | "AU" | "AW" | "AX" | "AZ" | "BA" | "BB" | "BD" | "BE" | "BF" | "BG" | "BH" | "BI" | "BJ" | "BL" | "BM" | "BN" | "BO" | "BQ" | "BR" | "BS" | "BT" | "BV" | "BW" | "BY" | "BZ" | "CA" | "CC" | "CD" | "CF" | "CG" | "CH" | "CI" | "CK" | "CL";
  type Dog = Base & { bark: "loud" | "soft"; kind?: "dog" };
  interface Client {
    readonly animals: {
      /** POST /animals */
      createAnimal(args: { body: Animal }): Promise<Animal>;
      /** POST /dogs */
      createDog(args: { id: string; bark: "loud" | "soft"; kind?: "dog" }): Promise<Dog>;
    };
    readonly values: {
      /** PUT /values */
      setValue(args: { value: string | number | string[]; note: string | null; country?: Country; level?: 1 | 2 | 3; mode?: "a" | "b" | null; extra?: Base | null; map?: { [key: string]: Base }; loose?: { a?: string; [key: string]: unknown }; empty?: unknown; ratio?: number }): Promise<{ deep?: { deeper?: { deepest?: { bottom?: string } } } } | null>;
    };
  }
}
declare const client: sdk.Client;
