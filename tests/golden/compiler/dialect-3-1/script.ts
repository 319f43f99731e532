/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.points.putPoint({ id: "id", version: 2, pair: ["pair", 1], note: "hello" });
}
export {};
