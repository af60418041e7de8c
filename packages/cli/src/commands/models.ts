/** `models`: the catalogue as a table, and one model with its fields, as needed to write a `run` command. */
import { Option } from 'commander';
import type { Command } from 'commander';
import { modelPath } from '@darkroom/api/client/api-client';
import { MODALITIES } from '@darkroom/api/facts/modalities';
import type { OpenSession } from '../session.ts';
import { shellWord } from '../shell-word.ts';
import { facts, moment, table } from '../table.ts';
import { printableLine } from '../terminal.ts';
import type { Terminal } from '../terminal.ts';
import type { JsonSchema } from '../json-schema.ts';
import type { WireModel, WireModelDetail } from '@darkroom/api/tasks/model';

export function addModelsCommand(program: Command, open: OpenSession): void {
  program
    .command('models')
    .description('list the models, or show one with the fields of its input')
    .argument('[model]', 'a name as the list gives it')
    .addOption(new Option('--modality <modality>', 'only models that make this').choices(MODALITIES))
    .action(async (name: string | undefined, { modality }: { modality?: string }) => {
      const { api, terminal, cli, isJson } = await open();
      if (name !== undefined) {
        const model = await api.call<WireModelDetail>('GET', modelPath(name));
        if (isJson) terminal.printJson(model);
        else showModel(model, terminal, cli.programName);
        return;
      }
      const { data } = await api.call<{ readonly data: readonly WireModel[] }>('GET', '/models');
      const models = data.filter((model) => modality === undefined || model.modality === modality);
      if (isJson) {
        terminal.printJson(models);
        return;
      }
      const rows = models.map((model) => [model.id, model.modality, priceOf(model.pricing), noteOf(model)]);
      for (const line of table(['MODEL', 'MAKES', 'PRICE', ''], rows)) terminal.print(line);
    });
}

/** `$0.01 per image`, or the price of a million tokens. */
function priceOf(pricing: Readonly<Record<string, unknown>>): string {
  const { unit, usd, inputUsd, outputUsd, by } = pricing;
  if (typeof inputUsd === 'string' && typeof outputUsd === 'string') {
    return `$${inputUsd} in, $${outputUsd} out per million tokens`;
  }
  const tiers = typeof by === 'object' && by !== null && 'usd' in by ? Object.values(by.usd as object) : [];
  const prices = tiers.filter((price): price is string => typeof price === 'string').map(Number);
  const least = prices.length === 0 ? String(usd) : String(Math.min(...prices));
  const most = prices.length === 0 ? least : String(Math.max(...prices));
  return `$${least}${most === least ? '' : ` to $${most}`} per ${String(unit)}`;
}

function noteOf({ deprecation, shutdown_date: shutdown, replacement }: WireModel): string {
  if (deprecation === null && shutdown === null) return '';
  const end = shutdown === null ? 'deprecated' : `until ${moment(shutdown)}`;
  return replacement === null ? end : `${end}; use ${replacement}`;
}

function showModel(model: WireModelDetail, terminal: Terminal, programName: string): void {
  const note = noteOf(model);
  const lines = facts([
    ['model', model.id],
    ['makes', model.modality],
    ['price', priceOf(model.pricing)],
    ['routes', model.routes.length > 1 ? model.routes.join(', ') : undefined],
    ['note', note === '' ? undefined : note],
  ]);
  const { properties = {}, required = [] } = model.input_schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
  };
  const rows = Object.entries(properties).map(([name, schema]) => [
    `${name}${required.includes(name) ? '*' : ''}`,
    takenBy(schema),
    typeof schema['description'] === 'string' ? schema['description'] : '',
  ]);
  for (const line of [...lines, '', printableLine(model.description), '']) terminal.print(line);
  for (const line of table(['FIELD (* needed)', 'TAKES', ''], rows)) terminal.print(line);
  const [example] = model.examples;
  if (example === undefined || model.modality === 'text') return;
  terminal.print('');
  terminal.print(`${programName} run ${model.id} ${Object.entries(example).map(assignmentOf).join(' ')}`);
}

/** A short description of the values that a field accepts. */
function takenBy(schema: JsonSchema): string {
  const {
    type,
    enum: choices,
    minimum,
    maximum,
    items,
    contentMediaType,
    default: preset,
    minItems,
    maxItems,
  } = schema;
  const member = typeof items === 'object' && items !== null ? (items as JsonSchema) : undefined;
  const media = contentMediaType ?? member?.['contentMediaType'];
  const bound = (limit: unknown): string => (typeof limit === 'number' ? String(limit) : '');
  const range = (from: unknown, to: unknown): string =>
    from === undefined && to === undefined ? '' : ` ${bound(from)}..${bound(to)}`;
  const what = Array.isArray(choices)
    ? choices.join(' ')
    : typeof media === 'string'
      ? `${media} (URL or @file)`
      : `${Array.isArray(type) ? type.join(' or ') : typeof type === 'string' ? type : 'any'}${range(minimum, maximum)}`;
  const list = type === 'array' ? `list${range(minItems, maxItems)} of ` : '';
  return `${list}${what}${preset === undefined ? '' : `, default ${JSON.stringify(preset)}`}`;
}

function assignmentOf([name, value]: readonly [string, unknown]): string {
  return shellWord(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
}
