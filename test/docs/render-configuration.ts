/**
 * Renders `docs/reference/configuration.md` from the lists of variables. Run by itself it writes the file:
 * `npm run ts -- test/docs/render-configuration.ts`
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import type { Variable } from '../../src/config/variables.ts';
import { COMPOSE_VARIABLES } from '../config/render-env-example.ts';
import { table } from './markdown-table.ts';

/** Where the rendered text is stored. */
export const CONFIGURATION = packageFile('docs/reference/configuration.md');

const INTRODUCTION = `# Configuration reference

Every environment variable that Darkroom reads. \`npm start\` needs none of them; [Configure](../operations/install.md#configure) says which ones a role that runs by itself needs. A secret can also come from a file: set \`<NAME>_FILE\` to its path instead of \`<NAME>\`. The credential of an upstream that a model file calls \`<name>\` is in \`UPSTREAM_<NAME>_KEY\`.

This page is generated from \`src/config/variables.ts\`.
`;

export function renderConfiguration(): string {
  return `${INTRODUCTION}
${tableOf(VARIABLES)}
## Only for docker-compose.yml

${tableOf(COMPOSE_VARIABLES)}`;
}

function tableOf(variables: Readonly<Record<string, Variable>>): string {
  return table(
    ['variable', 'type', 'default', 'meaning'],
    Object.entries(variables).map(([name, variable]) => [
      `\`${name}\``,
      typeOf(variable),
      defaultOf(variable),
      // Not an HTML tag.
      variable.help.replaceAll('<', '\\<'),
    ]),
  );
}

function typeOf({ kind, choices, minimum, maximum }: Variable): string {
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (minimum === undefined || maximum === undefined) return kind;
  return `${kind}, ${minimum} to ${maximum}`;
}

function defaultOf({ fallback }: Variable): string {
  if (fallback === undefined) return 'required';
  return fallback === '' ? '' : `\`${fallback}\``;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(CONFIGURATION, renderConfiguration());
