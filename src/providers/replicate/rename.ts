/** What Replicate's models call the fields of an input: each has names of its own, and ours are the same everywhere. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { UpstreamBinding } from '../provider.ts';

const FIELD_NAME = '^[A-Za-z_][A-Za-z0-9_]{0,63}$';

export const RenameSchema = Type.Record(
  Type.String({ pattern: FIELD_NAME }),
  Type.String({ pattern: FIELD_NAME, description: "The model's name for a field of the input." }),
  {
    maxProperties: 100,
    additionalProperties: false,
    description: 'Of `replicate`: what the model calls fields of the input. Others keep their names.',
  },
);

type Rename = Static<typeof RenameSchema>;

/** The input with the names of an upstream's model. A field that is not named keeps its own. */
export function renamed(
  input: Readonly<Record<string, unknown>>,
  upstream: UpstreamBinding,
): Readonly<Record<string, unknown>> {
  const names = new Map(Object.entries(renameOf(upstream)));
  return Object.fromEntries(Object.entries(input).map(([field, value]) => [names.get(field) ?? field, value]));
}

function renameOf(upstream: UpstreamBinding): Rename {
  return hasRename(upstream) ? upstream.rename : {};
}

/** Its form was validated when the model file was read. */
function hasRename(upstream: UpstreamBinding): upstream is UpstreamBinding & { readonly rename: Rename } {
  return 'rename' in upstream;
}
