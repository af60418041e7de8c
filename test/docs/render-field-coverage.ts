/**
 * Renders the table of spec §2.5 (test/catalogue/spec-fields.json) with the embedded models: which of them follows an
 * observation about a field, and the tests that show its effect on the output. Run by itself it writes
 * `.cache/field-coverage.md`: `npm run ts -- test/docs/render-field-coverage.ts`
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/config/package-root.ts';
import { SPEC_FIELDS, describeCell, embeddedModels, evaluateCell } from '../catalogue/spec-fields.ts';
import type { Cell, EmbeddedModel } from '../catalogue/spec-fields.ts';
import { table } from './markdown-table.ts';

const INTRODUCTION = `# The fields of the specification, model by model

Every field of specification §2.5 and everything observed of it: the embedded models that keep to it, how many of the others reject it, and the tests that show it in the files that come out. That a model accepts and rejects what it should is shown for each line by \`catalogue/spec-fields\`. This page is rendered from \`test/catalogue/spec-fields.json\` and \`models/\`; \`test/docs/field-coverage.test.ts\` fails when a test that it names is not there.
`;

/** The tests that show a cell's effect on the output, as `file › name`. */
export function proofsOf(cell: Cell): readonly string[] {
  return cell.honouredBy ?? SPEC_FIELDS.honouredBy[cell.field] ?? [];
}

async function renderFieldCoverage(): Promise<string> {
  const models = await embeddedModels();
  const cells = SPEC_FIELDS.rows.flatMap((row) => row.cells);
  const observed = table(
    ['field', 'observed', 'models', 'rejected by', 'shown by'],
    cells.flatMap((cell, index) => linesOf(cell, models, cells[index - 1]?.field === cell.field)),
  );
  const rules = table(
    ['fields', 'type', 'rules'],
    SPEC_FIELDS.rows.map(({ fields, type, rules }) => [fields.join(', '), type, rules]),
  );
  const ours = table(
    ['field', 'models', 'what it does', 'shown by'],
    SPEC_FIELDS.additive.flatMap(({ field, models: names, why }) => {
      const [first = '', ...others] = SPEC_FIELDS.honouredBy[field] ?? [];
      return [[field, names.map(short).join(', '), why, first], ...others.map((proof) => ['', '', '', proof])];
    }),
  );
  return [
    INTRODUCTION,
    '## What was observed\n',
    observed,
    '## The rules of the table\n',
    rules,
    '## Fields of ours\n\nIn no row of the specification.\n',
    ours,
  ].join('\n');
}

function linesOf(cell: Cell, models: readonly EmbeddedModel[], isContinued: boolean): readonly (readonly string[])[] {
  const { acceptedBy, rejectedBy } = evaluateCell(cell, models);
  const [first = '', ...others] = proofsOf(cell);
  const rejecting = `${rejectedBy.length} of ${models.length}`;
  return [
    [isContinued ? '' : cell.field, describeCell(cell), acceptedBy.map(short).join(', '), rejecting, first],
    ...others.map((proof) => ['', '', '', '', proof]),
  ];
}

function short(name: string): string {
  return name.replace(/^darkroom\//, '');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = packageFile('.cache/field-coverage.md');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, await renderFieldCoverage());
  process.stdout.write(`${file}\n`);
}
