/// <reference path="./sdk.d.ts" />
export async function example0() {
  return await client.pets.listPets();
}
export async function example1() {
  return await client.pets.createPet({ name: "Rex" });
}
export async function example2() {
  return await client.pets.get({ petId: 1 });
}
export async function example3() {
  return await client.pets.updatePet({ petId: 1, name: "name" });
}
export async function example4() {
  return await client.pets.delete({ petId: 1 });
}
export async function example5() {
  return await client.storeOrders.list();
}
export async function example6() {
  return await client.health.list();
}
export {};
