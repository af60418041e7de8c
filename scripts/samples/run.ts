/**
 * Makes the samples that the dashboard shows of the embedded models: one task of each, through the HTTP API of a
 * running Darkroom, shrunk to what a card on a page needs. Writes the files below `packages/dashboard/public` and their list below
 * `packages/dashboard/src`, which `npm run format` formats.
 *
 * Usage: npm run ts -- scripts/samples/run.ts --url http://127.0.0.1:8787/v1 --key dk_live_… [--only part-of-a-name]
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { loadModels } from '../../src/catalogue/load-models.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { endMediaChildren } from '@darkroom/media/media-child';
import { connect } from '../gallery/api.ts';
import type { Api, Model } from '../gallery/api.ts';
import { referencesNeeded, withReferences } from '../gallery/references.ts';
import type { Reference } from '../gallery/references.ts';
import { shrink } from './shrink.ts';
import type { Shrunk } from './shrink.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

/** In the form of `packages/dashboard/src/pages/models/samples.ts`. */
interface Sample extends Shrunk {
  readonly prompt: string;
}

/** A card shows a few seconds: no more are generated, if a model can make so few. */
const SECONDS: Readonly<Record<string, number>> = { video: 4, audio: 6 };
const FOLDER = path.resolve('packages/dashboard/public/assets/samples');
const LIST = path.resolve('packages/dashboard/src/pages/models/samples.ts');

const print = (line: string): boolean => process.stderr.write(`${line}\n`);

const options = new Command()
  .description('Makes the samples that the dashboard shows.')
  .requiredOption('--url <url>', 'base URL (…/v1) of a Darkroom that runs')
  .requiredOption('--key <key>', 'an API key of it')
  .option('--only <word>', 'only models whose name has this in it; the other samples stay')
  .parse()
  .opts();

const scratch = await mkdtemp(path.join(os.tmpdir(), 'darkroom-samples-'));
try {
  await makeSamples(connect(options.url, options.key));
} finally {
  await endMediaChildren();
  await rm(scratch, { recursive: true, force: true });
}

async function makeSamples(api: Api): Promise<void> {
  const definitions = await loadModels([packageFile('models')], PROTOCOLS);
  // There is nothing to see or hear of a transcript.
  const shown = definitions.filter((model) => isMediaModel(model) && model.modality !== 'transcription');
  const embedded = new Set(shown.map(({ name }) => name));
  const models = await api.models((id) => embedded.has(id) && id.includes(options.only ?? ''));
  const references = await makeReferences(api, models);
  await mkdir(FOLDER, { recursive: true });
  const samples = new Map(Object.entries(await readList()));
  for (const model of models) {
    samples.set(model.id, await makeSample(api, model, references));
    await writeList(samples);
  }
}

/** Inputs for models that process media. */
async function makeReferences(api: Api, models: readonly Model[]): Promise<readonly Reference[]> {
  const references: Reference[] = [];
  for (const { kind, model, input } of referencesNeeded(models)) {
    const { output: [output] = [], error } = await api.run(model, input);
    if (output === undefined) throw new Error(`${model} made nothing to work on: ${JSON.stringify(error)}`);
    references.push({ kind, url: output.url });
  }
  return references;
}

async function makeSample(api: Api, model: Model, references: readonly Reference[]): Promise<Sample> {
  const [example = {}] = model.examples;
  const input = withReferences(model, shortened(model, example), references);
  const { output: [output] = [], error } = await api.run(model.id, input);
  if (output === undefined) throw new Error(`${model.id} made nothing: ${JSON.stringify(error)}`);
  const file = path.join(scratch, `original${path.extname(new URL(output.url).pathname)}`);
  await writeFile(file, await api.download(output.url));
  const shrunk = await shrink(file, output.mimeType, path.join(FOLDER, model.id.replaceAll('/', '-')));
  print(`✔ ${model.id}`);
  return { ...shrunk, prompt: wordsOf(example) };
}

/** The prompt of a model. */
function wordsOf(input: Readonly<Record<string, unknown>>): string {
  const words = input['prompt'] ?? input['text'];
  return typeof words === 'string' ? words : '';
}

/** As short and as small as the model allows, for videos and audio. */
function shortened(model: Model, example: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const seconds = SECONDS[model.modality];
  if (seconds === undefined) return example;
  const fields = (model.input_schema.properties ?? {}) as Readonly<
    Record<string, { minimum?: number; enum?: unknown[]; type?: string }>
  >;
  const { duration, resolution } = fields;
  return {
    ...example,
    ...(duration?.type === 'integer' ? { duration: Math.max(seconds, duration.minimum ?? 0) } : {}),
    ...(resolution?.enum === undefined ? {} : { resolution: resolution.enum[0] }),
  };
}

async function readList(): Promise<Readonly<Record<string, Sample>>> {
  if (!existsSync(LIST)) return {};
  return ((await import(LIST)) as { samples: Record<string, Sample> }).samples;
}

async function writeList(samples: ReadonlyMap<string, Sample>): Promise<void> {
  const sorted = Object.fromEntries([...samples].toSorted(([left], [right]) => left.localeCompare(right)));
  await writeFile(
    LIST,
    [
      '/** Samples of models, each generated by the model itself. Written by scripts/samples/run.ts; do not edit. */',
      '',
      'export interface Sample {',
      "  readonly kind: 'image' | 'video' | 'audio';",
      '  /** Files below `/assets/samples/`. */',
      '  readonly file: string;',
      '  /** A still image of a video. */',
      '  readonly poster?: string;',
      '  readonly width?: number;',
      '  readonly height?: number;',
      '  /** The prompt that the model was given. */',
      '  readonly prompt: string;',
      '}',
      '',
      '/** By the name of the model. */',
      `export const samples: Readonly<Record<string, Sample>> = ${JSON.stringify(sorted, null, 2)};`,
      '',
    ].join('\n'),
  );
}
