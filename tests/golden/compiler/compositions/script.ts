/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.animals.createAnimal({ body: { id: "id", kind: "cat" } });
}
export async function example1() {
  return await client.animals.createDog({ id: "id", bark: "loud" });
}
export async function example2() {
  return await client.values.setValue({ value: "value", note: "note" });
}
export {};
