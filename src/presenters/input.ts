/**
 * A stored input as its owner sent it (contract §4 `?include=input`): references to objects of ours become URLs again,
 * signed when they are read.
 */
import type { UrlSigner } from '../objects/urls/signed-url.ts';
import { referencedId } from '../objects/urls/signed-url.ts';

/**
 * @param fileNameOf the file name that the URL of an object shows, by its id; default: the id itself.
 * @returns a copy.
 */
export function presentInput(
  input: Readonly<Record<string, unknown>>,
  signer: UrlSigner,
  fileNameOf: (objectId: string) => string = (objectId) => objectId,
): Record<string, unknown> {
  const present = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const outputId = referencedId(value);
      return outputId === undefined ? value : signer.sign({ outputId, fileName: fileNameOf(outputId) }).url;
    }
    if (Array.isArray(value)) return value.map(present);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, present(member)]));
  };
  return present(input) as Record<string, unknown>;
}
