/**
 * `npm run gallery`: creates a task of every embedded model through the HTTP API, downloads what came out, verifies it by
 * other means than those it was made with, and writes a contact sheet: an HTML page with pictures, players and the
 * request that made each. Starts an installation of its own unless told of one that runs.
 *
 * Exits with 1 where a task failed or a file is not what it claims to be.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { loadModels } from '../../src/catalogue/load-models.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { GalleryError, connect } from './api.ts';
import type { Api, Model, Task } from './api.ts';
import { startInstallation } from './installation.ts';
import { page } from './page.ts';
import type { Exhibit, ExhibitFile } from './page.ts';
import { referencesNeeded, withReferences } from './references.ts';
import type { Reference } from './references.ts';
import { verify } from './verify.ts';

const say = (line: string): boolean => process.stderr.write(`${line}\n`);

const options = await yargs(hideBin(process.argv))
  .scriptName('npm run gallery --')
  .usage('$0 [options]\n\nShows what every embedded model makes.')
  .option('out', { type: 'string', default: 'gallery', describe: 'folder for the page and its files' })
  .option('only', { type: 'string', array: true, describe: 'only models whose name has this in it' })
  .option('all', { type: 'boolean', default: false, describe: 'every example of a model, not only its first' })
  .option('url', { type: 'string', describe: 'base URL (…/v1) of an installation that runs' })
  .option('key', { type: 'string', describe: 'an API key of it' })
  .implies('url', 'key')
  .strict()
  .version(false)
  .parseAsync();

const folder = path.resolve(options.out);
const installation =
  options.url === undefined || options.key === undefined
    ? await startInstallation(say)
    : { url: options.url, key: options.key, stop: async () => {} };
try {
  process.exitCode = await show(connect(installation.url, installation.key));
} catch (error) {
  if (!(error instanceof GalleryError)) throw error;
  say(error.message);
  process.exitCode = 1;
} finally {
  await installation.stop();
}

async function show(api: Api): Promise<number> {
  const embedded = await embeddedNames();
  const models = await api.models((id) => embedded.has(id) && (options.only?.some((part) => id.includes(part)) ?? true));
  if (models.length === 0) throw new GalleryError(`no embedded model has ${options.only?.join(' or ')} in its name`);
  await rm(path.join(folder, 'files'), { recursive: true, force: true });
  await mkdir(path.join(folder, 'files'), { recursive: true });
  const references = await makeReferences(api, models);
  const exhibits: Exhibit[] = [];
  // One after another: each model's own time is to be seen.
  for (const model of models) {
    for (const example of options.all ? model.examples : model.examples.slice(0, 1)) {
      exhibits.push(await makeExhibit(api, model, withReferences(model, example, references)));
    }
  }
  const file = path.join(folder, 'index.html');
  await writeFile(file, page(exhibits));
  const broken = exhibits.filter(({ problems }) => problems.length > 0);
  say(`${exhibits.length - broken.length} of ${exhibits.length} are as they should be: ${file}`);
  return broken.length === 0 ? 0 : 1;
}

/** An operator's own models are paid for elsewhere, and a text cannot be looked at: only ours that make files are shown. */
async function embeddedNames(): Promise<ReadonlySet<string>> {
  const models = await loadModels([packageFile('models')]);
  return new Set(models.filter(isMediaModel).map(({ name }) => name));
}

/** Pictures, a film and a sound for the models that take such, made by those that take none. */
async function makeReferences(api: Api, models: readonly Model[]): Promise<readonly Reference[]> {
  const references: Reference[] = [];
  for (const { kind, model, input } of referencesNeeded(models)) {
    say(`${kind} to work on, by ${model}`);
    const task = await api.run(model, input);
    const [output] = task.output ?? [];
    if (output === undefined) throw new Error(`${model} made nothing to work on: ${JSON.stringify(task.error)}`);
    references.push({ kind, url: output.url });
  }
  return references;
}

async function makeExhibit(api: Api, model: Model, input: Readonly<Record<string, unknown>>): Promise<Exhibit> {
  const began = Date.now();
  const task = await api.run(model.id, input);
  const seconds = (Date.now() - began) / 1000;
  const problems: string[] = [];
  if (task.status !== 'success') problems.push(`${task.status}: ${JSON.stringify(task.error)}`);
  const files: ExhibitFile[] = [];
  for (const [place, output] of (task.output ?? []).entries()) {
    const name = `${model.id.replaceAll('/', '-')}-${task.taskId.slice(-6)}-${place + 1}${extensionOf(output.url)}`;
    const bytes = await api.download(output.url);
    const file = path.join(folder, 'files', name);
    await writeFile(file, bytes);
    const found = await verify({ file, bytes, output, input });
    problems.push(...found.problems.map((problem) => `${name}: ${problem}`));
    files.push({ name: `files/${name}`, type: output.type, facts: found.facts });
  }
  say(`${problems.length === 0 ? '✔' : '✖'} ${model.id} in ${seconds.toFixed(1)} s${problems.map((each) => `\n    ${each}`).join('')}`);
  return { model: model.id, description: model.description, input: shown(input), seconds, cost: costOf(task), files, problems };
}

function extensionOf(url: string): string {
  return path.extname(new URL(url).pathname);
}

/** Signed addresses end within the hour: what they were is said instead. */
function shown(input: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(input, null, 2).replaceAll(/"https?:\/\/[^"]*\/media\/[^"]*\/([^"/]*)"/g, '"…/$1"');
}

function costOf(task: Task): string {
  return `$${task.billing?.captured ?? '?'}`;
}
