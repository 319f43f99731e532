/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.unknown.fine();
}
export async function example1() {
  return await client.upper.upper();
}
export async function example2() {
  return await client.mended.get({ a: "a", b: "b" });
}
export async function example3() {
  return await client.noSlash.noSlash();
}
export async function example4() {
  return await client.same.noSlash();
}
export {};
