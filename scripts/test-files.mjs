/**
 * Which test files a command runs. `npm test` runs what fits its ten minutes; `npm run test:wide` runs the rest, by
 * name or all of it.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';

/** Files that need more than Node; each can be run by its name. */
const WIDE = path.join('test', 'wide');

/** The groups of `npm run test:wide`, with their directories. `.ci/run` runs them too. */
const GROUPS = {
  /** The dashboard and the guide in Chromium. */
  browser: ['test/web'],
  /** The command-line client and the MCP tools, as processes and with the official clients. */
  clients: ['test/clients'],
  /** What a task costs at Temporal Cloud. */
  costs: ['test/costs'],
  /** Releases, restarts and upgrades while work is in progress; the files that a deployment is made from. */
  deploys: ['test/deploy'],
  /** Many accounts, and more work than a limit allows. */
  fairness: ['test/fairness'],
  /** Processes that are killed, services that are away, wrong clocks, slow peers. */
  faults: ['test/kill', 'test/faults'],
  /** Requests and files that are made to cost as much as possible. */
  hostile: ['test/attack'],
  /** What is sent to providers, compared with what their official clients send, and the workbench for a mapping. */
  oracle: ['test/oracle', 'test/workbench'],
  /** What the embedded engines render, to the last pixel and sample, and how media files are read. */
  media: ['packages/engines/test', 'packages/media/test', 'test/providers/embedded'],
};

/**
 * The group that runs the tests of these directories, of `npm test` and of other groups, with a PgBouncer between the
 * program and PostgreSQL, after those of the pooler itself. Any other selection runs so with the same variable.
 */
const POOLED = {
  name: 'pooler',
  environment: { DARKROOM_TEST_POOLER: 'pgbouncer' },
  own: ['test/pooler'],
  directories: [
    'test/pooler',
    'test/e2e',
    'test/database',
    'test/tasks',
    'test/billing',
    'test/limits',
    'test/accounts',
    'test/callbacks',
    'test/batches',
    'test/text/money',
    'test/fairness',
    'test/kill',
  ],
};

/** @returns what `npm run test:wide -- <name>…` accepts besides files, for messages. */
export function groupNames() {
  return [...Object.keys(GROUPS), POOLED.name];
}

/** @returns the variables that these names set for the whole run. */
export function environmentOf(names, isWide) {
  return isWide && names.includes(POOLED.name) ? POOLED.environment : {};
}

/** All test files of the service and of the packages, below the root. */
async function findAll(root) {
  const packages = await readdir(path.join(root, 'packages'));
  const directories = ['test', ...packages.map((name) => path.join('packages', name, 'test'))];
  const files = await Promise.all(
    directories.map(async (directory) => {
      if (!existsSync(path.join(root, directory))) return [];
      const entries = await readdir(path.join(root, directory), { recursive: true });
      return entries.map((entry) => path.join(directory, entry));
    }),
  );
  return files
    .flat()
    .filter((file) => file.endsWith('.test.ts'))
    .toSorted();
}

/**
 * @param names files, and for `wide` names of groups and of files of test/wide; empty for all.
 * @returns the files, and the names that are none.
 */
export async function selectTestFiles(root, { names, isWide }) {
  const all = await findAll(root);
  if (names.length === 0) return { files: all.filter((file) => isWideFile(file) === isWide), unknown: [] };
  const found = names.map((name) => ({ name, files: isWide ? namedWide(all, name) : [] }));
  for (const entry of found) {
    if (entry.files.length === 0 && existsSync(path.join(root, entry.name))) entry.files = [entry.name];
  }
  return {
    files: found.flatMap(({ files }) => files),
    unknown: found.filter(({ files }) => files.length === 0).map(({ name }) => name),
  };
}

function namedWide(all, name) {
  const directories =
    name === POOLED.name ? POOLED.directories : Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined;
  if (directories !== undefined) {
    return all.filter((file) => directories.some((directory) => isBelow(file, path.normalize(directory))));
  }
  return all.filter((file) => file === path.join(WIDE, `${name}.test.ts`));
}

function isWideFile(file) {
  const directories = [...Object.values(GROUPS).flat(), ...POOLED.own];
  return isBelow(file, WIDE) || directories.some((directory) => isBelow(file, path.normalize(directory)));
}

function isBelow(file, directory) {
  return file.startsWith(directory + path.sep);
}
