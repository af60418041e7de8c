/** The files of all tests, and the names by which documents refer to them. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { packageFile } from '../../src/config/package-root.ts';

/** A TypeScript file among the tests. */
export interface TestFile {
  /** As documents name it, with its extension: `http/app.test.ts`, `packages/media/decode.test.ts`. */
  readonly name: string;
  /** From the repository's root: `packages/media/test/decode.test.ts`. */
  readonly path: string;
}

/** All TypeScript files among the tests of the service and of the packages, by name. */
export function listTestFiles(): readonly TestFile[] {
  const packages = readdirSync(packageFile('packages'), { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    const [, name = '', rest = ''] = /^([^/\\]+)[/\\]test[/\\](.+)$/.exec(file) ?? [];
    return name === '' ? [] : [{ name: `packages/${name}/${rest}`, path: `packages/${file}` }];
  });
  const own = readdirSync(packageFile('test'), { recursive: true, encoding: 'utf8' }).map((file) => ({
    name: file,
    path: `test/${file}`,
  }));
  return [...own, ...packages]
    .map(({ name, path: file }) => ({ name: toPosix(name), path: toPosix(file) }))
    .filter(({ name }) => name.endsWith('.ts'))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function toPosix(file: string): string {
  return file.split(path.sep).join('/');
}
