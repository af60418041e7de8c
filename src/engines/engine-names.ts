/**
 * The names of the embedded engines, apart from the engines themselves, which load a drawing library.
 */

const ENGINE_NAMES = ['scene', 'poster', 'edit', 'swatch', 'film', 'speech', 'song', 'sound'] as const;

export type EngineName = (typeof ENGINE_NAMES)[number];

/** Whether an embedded engine has that name in this version. */
export function isEngineName(text: string): text is EngineName {
  return (ENGINE_NAMES as readonly string[]).includes(text);
}
