/** The door of the provider. */
export { createDarkroom } from './provider.ts';
export type { DarkroomProvider } from './provider.ts';
