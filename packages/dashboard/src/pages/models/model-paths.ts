/** The URLs of a model's page and playground; the slashes of its name are kept. */

const inPath = (name: string): string => name.split('/').map(encodeURIComponent).join('/');

export function modelPath(name: string): string {
  return `/models/${inPath(name)}`;
}

/** @param example index of one of the model's examples, from 0; @param taskId whose input fills the form. */
export function playgroundPath(
  name: string,
  prefill: { readonly example?: number; readonly taskId?: string } = {},
): string {
  const query = new URLSearchParams();
  if (prefill.example !== undefined) query.set('example', String(prefill.example));
  if (prefill.taskId !== undefined) query.set('from', prefill.taskId);
  return `/playground/${inPath(name)}${query.size === 0 ? '' : `?${query.toString()}`}`;
}
