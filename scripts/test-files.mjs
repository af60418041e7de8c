/**
 * Which test files a command runs. `npm test` runs what fits its ten minutes; `npm run test:wide` runs the rest, by
 * name or all of it.
 */
import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hashOf } from './build.mjs';

/** Files that need more than Node; each can be run by its name. */
const WIDE = path.join('test', 'wide');

/** The groups of `npm run test:wide`, with their directories. */
const GROUPS = {
  /** The dashboard and the guide in Chromium. */
  browser: ['test/web'],
  /** The command-line client and the MCP tools, as processes and with the official clients. */
  clients: ['test/clients'],
  /** What a task costs at Temporal Cloud. */
  costs: ['test/costs'],
  /** Restarts while work is in progress; the files that a deployment is made from. */
  deploys: ['test/deploy'],
  /** Many accounts, and more work than a limit allows. */
  fairness: ['test/fairness'],
  /** Processes that are killed, services that are away, wrong clocks, slow peers. */
  faults: ['test/kill', 'test/faults'],
  /** Requests and files that are made to cost as much as possible. */
  hostile: ['test/attack'],
  /** What is sent to providers, compared with what their official clients send, and the workbench for a mapping. */
  oracle: ['test/oracle', 'test/workbench'],
  /** Work that one release began and another one finds: before a release, not in `.ci/run`. */
  upgrades: ['test/upgrades'],
  /** What the embedded engines render, to the last pixel and sample, and how media files are read. */
  media: ['packages/engines/test', 'packages/media/test', 'test/providers/embedded'],
};

const ofPackages = (names, ...files) => names.flatMap((name) => files.map((file) => `packages/${name}/${file}`));

/** Everything that an installation runs or is made from. */
const INSTALLATION = [
  'activities',
  'deploy',
  'docker-compose.yml',
  'Dockerfile',
  'docs/operations',
  'migrations',
  'models',
  'package.json',
  'scripts',
  'src',
  'workflows',
  ...ofPackages(['api', 'engines', 'mcp', 'media', 'offline-text', 'seeded-random', 'testing'], 'package.json', 'src'),
];

/** Groups that take long, and what their tests are about: `.ci/run` runs them after a change of that. */
const SOURCES = {
  browser: [
    ...ofPackages(['dashboard'], 'index.html', 'package.json', 'public', 'src', 'vite.config.ts'),
    ...ofPackages(['guide'], '.vitepress/config.ts', '.vitepress/theme', 'package.json', 'src'),
    'packages/api/src',
    'src/http',
    'src/presenters',
    'test/web',
  ],
  clients: [
    ...ofPackages(['ai-sdk-provider', 'api', 'cli', 'mcp', 'sdk-js'], 'package.json', 'src'),
    ...['accounts', 'http', 'presenters', 'text'].map((name) => `src/${name}`),
    'test/clients',
  ],
  costs: [
    'activities',
    'workflows',
    ...['callbacks', 'generation', 'processes', 'tasks', 'temporal'].map((name) => `src/${name}`),
    'test/costs',
  ],
  deploys: INSTALLATION,
  fairness: INSTALLATION,
  faults: INSTALLATION,
  hostile: INSTALLATION,
  media: [
    ...ofPackages(['engines', 'media', 'seeded-random'], 'package.json', 'src', 'test'),
    'src/providers/embedded',
    'test/providers/embedded',
  ],
  oracle: [
    'docs/examples',
    'models',
    'packages/api/src',
    ...['catalogue', 'commands/admin', 'domain', 'egress', 'providers', 'schema', 'transcripts'].map(
      (name) => `src/${name}`,
    ),
    'test/oracle',
    'test/providers',
    'test/workbench',
  ],
};
/** The hash of those sources when the tests of a group last passed; in the repository, for a fresh clone to compare. */
const PASSED = '.ci/passed.json';

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

/** @returns the hash of what the group's tests are about, and for tests of installations of the tests themselves. */
async function hashOfGroup(root, name) {
  const sources = [...SOURCES[name], 'package-lock.json'];
  if (SOURCES[name] !== INSTALLATION) return hashOf(root, sources);
  return hashOf(root, [...sources, 'test/support', ...GROUPS[name], ...(await importedTests(root, GROUPS[name]))]);
}

/** @returns what the tests in these directories import from others below `test`, in the order of their names. */
async function importedTests(root, directories) {
  const isOfGroup = (file) => directories.some((directory) => isBelow(file, path.normalize(directory)));
  const found = new Set(await findModules(root, directories));
  for (const file of found) {
    const content = await readFile(path.join(root, file), 'utf8').catch(() => '');
    for (const [, target] of content.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const imported = path.join(path.dirname(file), target);
      if (isBelow(imported, 'test')) found.add(imported);
    }
  }
  return [...found].filter((file) => !isOfGroup(file)).toSorted(byName);
}

const byName = (one, other) => (one < other ? -1 : 1);

async function findModules(root, directories) {
  const found = await Promise.all(
    directories.map(async (directory) => {
      const entries = await readdir(path.join(root, directory), { recursive: true }).catch(() => []);
      return entries.map((entry) => path.join(directory, entry));
    }),
  );
  return found
    .flat()
    .filter((file) => file.endsWith('.ts'))
    .toSorted(byName);
}

async function readPassed(root) {
  return JSON.parse(await readFile(path.join(root, PASSED), 'utf8').catch(() => '{}'));
}

/** @returns the names without the groups whose tests passed with the sources that are here. */
export async function withoutPassed(root, names) {
  const passed = await readPassed(root);
  const isLeft = await Promise.all(
    names.map(async (name) => passed[name] === undefined || passed[name] !== (await hashOfGroup(root, name))),
  );
  return names.filter((_, index) => isLeft[index]);
}

/**
 * To be called before the run of all of these names.
 *
 * @param names empty for all.
 * @returns what to call after it if it passed: records that for the groups that `withoutPassed` knows.
 */
export async function passing(root, names) {
  const groups = Object.keys(SOURCES).filter((group) => names.length === 0 || names.includes(group));
  const hashes = await Promise.all(groups.map(async (group) => [group, await hashOfGroup(root, group)]));
  return async () => {
    if (groups.length === 0) return;
    const passed = { ...(await readPassed(root)), ...Object.fromEntries(hashes) };
    const sorted = Object.fromEntries(Object.entries(passed).toSorted(([one], [other]) => byName(one, other)));
    await writeFile(path.join(root, PASSED), `${JSON.stringify(sorted, undefined, 2)}\n`);
  };
}

/** All test files of the service and of the packages, below the root. */
async function findAll(root) {
  const packages = await readdir(path.join(root, 'packages'));
  const modules = await findModules(root, ['test', ...packages.map((name) => path.join('packages', name, 'test'))]);
  return modules.filter((file) => file.endsWith('.test.ts'));
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
