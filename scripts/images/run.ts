/**
 * Run: `npm run images -- check [--release]` or `… fill --registry <address>`. A release fills, and checks with
 * `--release`. Its help is scripts/help/images.txt.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { packageFile } from '../../src/config/package-root.ts';
import { problemsOf, withImages } from './lock.ts';
import type { ImageLock } from './lock.ts';
import { RegistryError, resolveDigest } from './registry.ts';

const LOCK = packageFile('deploy/docker/images.lock.json');
const FILES = [packageFile('Dockerfile'), packageFile('docker-compose.yml')];

async function check(isRelease: boolean): Promise<number> {
  const lock = JSON.parse(await readFile(LOCK, 'utf8')) as ImageLock;
  const problems = problemsOf(lock, await Promise.all(FILES.map((file) => readFile(file, 'utf8'))), isRelease);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  return problems.length === 0 ? 0 : 1;
}

/** Nothing is written before every digest is known. */
async function fill(registry: string): Promise<number> {
  const lock = JSON.parse(await readFile(LOCK, 'utf8')) as ImageLock;
  const filled: Record<string, ImageLock[string]> = {};
  for (const [variable, { image }] of Object.entries(lock)) {
    filled[variable] = { image, digest: await resolveDigest(registry, image) };
  }
  const lines = Object.entries(filled).map(
    ([variable, { image, digest }]) =>
      `  ${JSON.stringify(variable)}: {\n    "image": ${JSON.stringify(image)},\n    "digest": ${JSON.stringify(digest)}\n  }`,
  );
  await writeFile(LOCK, `{\n${lines.join(',\n')}\n}\n`);
  for (const file of FILES) await writeFile(file, withImages(await readFile(file, 'utf8'), filled));
  return check(true);
}

const USAGE = 'Usage: npm run images -- check [--release] | fill --registry <address>';

async function run(): Promise<number> {
  const { positionals, values } = readArguments();
  const [command = '', ...others] = positionals;
  if (others.length === 0 && command === 'check') return check(values.release);
  if (others.length === 0 && command === 'fill' && values.registry !== undefined) return fill(values.registry);
  throw new RegistryError(USAGE);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { release: { type: 'boolean', default: false }, registry: { type: 'string' } },
    });
  } catch (error) {
    throw new RegistryError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, { cause: error });
  }
}

try {
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof RegistryError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
