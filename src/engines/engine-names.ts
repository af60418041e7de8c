/**
 * The names of the embedded engines, apart from the engines themselves, which load a drawing library.
 */

const ENGINE_NAMES = ['scene', 'poster', 'edit', 'swatch', 'film', 'speech', 'song', 'sound'] as const;

/** Those that work for so long that others would wait for them, and that pause while others wait. */
const LONG_ENGINES: readonly string[] = ['film', 'song'] satisfies readonly EngineName[];

export type EngineName = (typeof ENGINE_NAMES)[number];

/** Whether an embedded engine has that name in this version. */
export function isEngineName(text: string): text is EngineName {
  return (ENGINE_NAMES as readonly string[]).includes(text);
}

/** Whether an engine's work takes long, so that it pauses for others. */
export function isLongEngine(name: string): boolean {
  return LONG_ENGINES.includes(name);
}
