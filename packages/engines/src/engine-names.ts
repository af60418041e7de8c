/**
 * The names of the embedded engines, in a module of their own because the engines themselves load a drawing library.
 */

const ENGINE_NAMES = ['scene', 'poster', 'edit', 'swatch', 'film', 'speech', 'song', 'sound'] as const;

/** Engines that run for so long that other jobs would wait for them; they pause while other jobs wait. */
const LONG_ENGINES: readonly string[] = ['film', 'song'] satisfies readonly EngineName[];

export type EngineName = (typeof ENGINE_NAMES)[number];

/** Whether an embedded engine of that name exists in this version. */
export function isEngineName(text: string): text is EngineName {
  return (ENGINE_NAMES as readonly string[]).includes(text);
}

/** Whether an engine's work takes long, so that it pauses for others. */
export function isLongEngine(name: string): boolean {
  return LONG_ENGINES.includes(name);
}
