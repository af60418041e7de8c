/**
 * The order of the modules, for the lint rule `darkroom/module-order`: a module imports only from those before it. To
 * add a module, put it after the modules that it needs and before those that need it.
 */

import path from 'node:path';

/** Paths below the repository's root: directories, and single files, none below another. */
export const MODULES = [
  'packages/api',
  'packages/media',
  'packages/seeded-random',
  'packages/engines',
  'packages/offline-text',
  'src/domain',
  'workflows',
  'src/config',
  'src/telemetry',
  'src/schema',
  'src/transcripts',
  'src/database',
  'src/limits',
  'src/egress',
  'src/temporal',
  'src/accounts',
  'src/catalogue',
  'src/billing',
  'src/objects',
  'src/upstreams',
  'src/providers',
  'src/callbacks',
  'src/tasks/record',
  'src/tasks/outbox',
  'src/tasks/listing',
  'src/tasks/lifecycle',
  'src/tasks/create',
  'src/tasks/repair',
  'src/generation',
  'src/text',
  'src/batches',
  'src/presenters',
  'activities',
  'packages/mcp',
  'packages/cli',
  'src/http',
  'src/processes',
  'src/standalone',
  'src/context.ts',
  'src/commands',
  'src/program.ts',
  'src/main.ts',
  'packages/dashboard',
  'packages/guide',
  'packages/sdk-js',
  'packages/ai-sdk-provider',
];

/** The scope of the packages' names: `@darkroom/media` is in `packages/media`. */
const SCOPE = '@darkroom/';

/** The only modules that a module imports, if not all of those before it. */
export const IMPORTS = {
  workflows: ['src/domain'],
  'packages/mcp': ['packages/api'],
  'packages/cli': ['packages/api', 'packages/mcp'],
  'packages/dashboard': ['packages/api'],
  'packages/guide': [],
  'packages/sdk-js': ['packages/api'],
  'packages/ai-sdk-provider': ['packages/sdk-js'],
};

/** Modules that are imported only as types: what they do runs in a bundle of its own. */
export const TYPES_ONLY = ['workflows'];

/** The only files that import from a module, if not all of those after it may. */
export const IMPORTED_BY = {
  workflows: ['activities', 'src/generation', 'src/processes', 'src/temporal'],
  activities: ['src/processes', 'src/context.ts'],
  'packages/mcp': ['src/http/routes/mcp.ts', 'packages/cli'],
  'packages/cli': [],
  'packages/guide': [],
};

/** The package of the tests, which no program contains. */
const TESTING = `${SCOPE}testing`;

/** Modules that do what activities do, and do not depend on Temporal: its context comes in as plain values. */
export const WITHOUT_TEMPORAL = ['src/generation'];

/**
 * Why a file may not import what a specifier names.
 *
 * @param {string} from a file, below the root. @param {string} specifier @param {boolean} isTypeOnly
 * @returns {string | undefined} undefined: it may.
 */
export function problemOfSpecifier(from, specifier, isTypeOnly) {
  if (isBelow(specifier, TESTING) && isProgram(from)) return `only tests import from ${TESTING}`;
  if (specifier.startsWith(SCOPE)) {
    return problemOfImport(from, `packages/${specifier.slice(SCOPE.length)}`, isTypeOnly);
  }
  if (specifier.startsWith('@temporalio/') && WITHOUT_TEMPORAL.some((path) => isBelow(from, path))) {
    return 'activities connect this module to Temporal';
  }
  if (!specifier.startsWith('.')) return undefined;
  const to = path.posix.join(path.posix.dirname(from), specifier);
  const [own, other] = [packageOf(from), packageOf(to)];
  // The exports of its package.json are the only way in, and a package does not depend on what surrounds it.
  if (other !== undefined && other !== own) return `packages/${other} is imported as ${SCOPE}${other}`;
  if (own !== undefined && other === undefined) return `packages/${own} imports only packages`;
  return problemOfImport(from, to, isTypeOnly);
}

/**
 * @param {string} from a file, below the root. @param {string} to another one. @param {boolean} isTypeOnly
 * @returns {string | undefined} undefined: it may.
 */
function problemOfImport(from, to, isTypeOnly) {
  const own = moduleOf(from);
  const other = moduleOf(to);
  if (own === undefined || other === undefined || own === other) return undefined;
  if (MODULES.indexOf(other) > MODULES.indexOf(own)) return `${other} comes after ${own}`;
  const isAllowed = IMPORTS[own]?.some((path) => isBelow(to, path));
  if (isAllowed === false) return `${own} does not import from ${other}`;
  if (TYPES_ONLY.includes(other) && !isTypeOnly) return `only types are imported from ${other}`;
  const importers = IMPORTED_BY[other];
  if (importers?.length === 0) return `nothing imports from ${other}`;
  if (importers !== undefined && !importers.some((path) => isBelow(from, path))) {
    return `only ${importers.join(' and ')} import from ${other}`;
  }
  return undefined;
}

/** @param {string} file @returns {string | undefined} the name of the package that it belongs to. */
function packageOf(file) {
  return /^packages\/([^/]+)\//.exec(file)?.[1];
}

/** @param {string} file @returns {boolean} whether a program or a package other than that of the tests contains it. */
function isProgram(file) {
  if (isBelow(file, 'packages/testing')) return false;
  return /^(src|activities|workflows|packages\/[^/]+\/src)\//.test(file);
}

/** @param {string} file @returns {string | undefined} */
function moduleOf(file) {
  return MODULES.find((path) => isBelow(file, path));
}

/** @param {string} file @param {string} path */
function isBelow(file, path) {
  return file === path || file.startsWith(`${path}/`);
}
