/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.things.find({ id: [1], label: "label", matrix: {} });
}
export {};
