/** What each package of the workspace says of itself: what it needs (package.json), and what it offers (README.md). */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseSync } from 'oxc-parser';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** What they import is put into their own files: with those, no dependency has to be installed. */
const BUNDLED: ReadonlySet<string> = new Set(['dashboard', 'guide', 'sdk-js']);
const SOURCE = /\.tsx?$/;
const IGNORED = /(?:^|\/)(?:node_modules|dist|test)\//;

const packages = readdirSync(packageFile('packages'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(packageFile(`packages/${entry.name}/package.json`)))
  .map(({ name }) => ({ name, manifest: manifestIn(packageFile(`packages/${name}`)) }));

function manifestIn(directory: string): Manifest {
  return JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8')) as Manifest;
}

function sourcesBelow(directory: string): readonly string[] {
  if (!existsSync(packageFile(directory))) return [];
  return readdirSync(packageFile(directory), { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => SOURCE.test(file) && !IGNORED.test(file))
    .map((file) => `${directory}/${file}`);
}

/** The packages that the files import, as values or as types, with those whose files they look up by a path. */
function importedBy(files: readonly string[]): ReadonlySet<string> {
  const specifiers = files.flatMap((file) => {
    const text = readFileSync(packageFile(file), 'utf8');
    const { staticImports, staticExports, dynamicImports } = parseSync(file, text).module;
    return [
      ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
      ...staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
      ...dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1)),
      ...[...text.matchAll(/\.resolve\(\s*['"`]([^'"`]+)/g)].map(([, specifier = '']) => specifier),
    ];
  });
  const names = specifiers
    .filter((specifier) => !isBuiltin(specifier))
    .flatMap((specifier) => /^(?:@[\w.-]+\/)?[a-z][\w.-]*(?=\/|$)/.exec(specifier)?.[0] ?? []);
  return new Set(names);
}

/** Packages that others of the same package.json expect beside them. */
function peersOf(name: string, dependencies: readonly string[]): ReadonlySet<string> {
  const roots = [packageFile(`packages/${name}`), PACKAGE_ROOT].map((root) => path.join(root, 'node_modules'));
  const directories = dependencies.flatMap(
    (dependency) => roots.map((root) => path.join(root, dependency)).find((directory) => existsSync(directory)) ?? [],
  );
  return new Set(directories.flatMap((directory) => Object.keys(manifestIn(directory).peerDependencies ?? {})));
}

describe('a package', () => {
  for (const { name, manifest } of packages) {
    const { dependencies = {}, devDependencies = {} } = manifest;
    const sources = sourcesBelow(`packages/${name}`);
    const inSources = importedBy(sources);
    const inTests = importedBy(sourcesBelow(`packages/${name}/test`));
    const isOther = (imported: string): boolean => imported !== manifest.name;

    it(`${name} declares what it imports`, () => {
      const ofProgram = BUNDLED.has(name) ? { ...dependencies, ...devDependencies } : dependencies;

      assert.ok(sources.length > 0);
      assert.deepEqual(
        [...inSources].filter(isOther).filter((imported) => !Object.hasOwn(ofProgram, imported)),
        [],
      );
      assert.deepEqual(
        [...inTests]
          .filter(isOther)
          .filter((imported) => !Object.hasOwn({ ...ofProgram, ...devDependencies }, imported)),
        [],
      );
    });

    it(`${name} declares nothing else`, () => {
      const all = [...Object.keys(dependencies), ...Object.keys(devDependencies)];
      const peers = peersOf(name, all);
      const isTypesOf = (dependency: string): boolean =>
        dependency.startsWith('@types/') && all.includes(dependency.slice('@types/'.length));
      const isUnused = (imported: ReadonlySet<string>) => (dependency: string) =>
        !imported.has(dependency) && !peers.has(dependency) && !isTypesOf(dependency);

      assert.deepEqual(Object.keys(dependencies).filter(isUnused(inSources)), []);
      assert.deepEqual(Object.keys(devDependencies).filter(isUnused(new Set([...inSources, ...inTests]))), []);
      assert.deepEqual(
        Object.keys(devDependencies).filter((dependency) => Object.hasOwn(dependencies, dependency)),
        [],
      );
    });

    it(`${name} has a README that names everything that can be imported from it`, () => {
      const named = namedIn(name).filter((specifier) => specifier.startsWith(`${manifest.name}/`));
      const paths = exportsOf(manifest).filter((specifier) => specifier !== manifest.name);

      assert.deepEqual([...new Set(named)].toSorted(), paths.toSorted());
    });

    it(`${name} has a README that names no other import than there is`, () => {
      assert.deepEqual(
        namedIn(name).filter((specifier) => !isExported(specifier)),
        [],
      );
    });
  }
});

function exportsOf({ name, exports = {} }: Manifest): readonly string[] {
  return Object.keys(exports).map((subpath) => subpath.replace(/^\./, name));
}

/** Whether it can be imported, or is a pattern of what can be. */
function isExported(specifier: string): boolean {
  return packages.some(({ name, manifest }) =>
    exportsOf(manifest).some((exported) => {
      if (exported === specifier) return true;
      const [before = '', after] = exported.split('*');
      if (after === undefined || !specifier.startsWith(before)) return false;
      const source = specifier.slice(manifest.name.length).concat('.ts');
      return existsSync(packageFile(`packages/${name}/src${source}`));
    }),
  );
}

/** The imports that the page of a package names, with their paths. */
function namedIn(name: string): readonly string[] {
  const page = readFileSync(packageFile(`packages/${name}/README.md`), 'utf8');
  return [...page.matchAll(/`(@darkroom\/[\w-]+\/[\w*/-]+)`/g)].map(([, specifier = '']) => specifier);
}
