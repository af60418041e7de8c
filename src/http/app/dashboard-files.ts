/**
 * The dashboard's files as the build wrote them (web/, `dist/dashboard`): read once, each with its compressed forms,
 * looked up by exact name, so that no path of a request ever becomes a path on disk.
 */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { packageFile } from '../../config/package-root.ts';

/** The compressed forms of a file, the smallest first: the encoding a browser may accept, and its file name suffix. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

export interface DashboardFile {
  readonly content: Buffer;
  /** By the name of the encoding. Images and videos have none. */
  readonly encoded: ReadonlyMap<string, Buffer>;
}

export interface DashboardFiles {
  /** The page, with the placeholders `{{nonce}}` and `{{listener}}`, which each response fills in. */
  readonly page: string;
  /** By their paths below `/assets/`. */
  readonly assets: ReadonlyMap<string, DashboardFile>;
}

const FOLDER = packageFile('dist/dashboard');

let files: Promise<DashboardFiles | undefined> | undefined;

/** @returns undefined: the dashboard was not built. */
export function dashboardFiles(): Promise<DashboardFiles | undefined> {
  files ??= readFiles().catch((error: unknown) => {
    files = undefined;
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  return files;
}

async function readFiles(): Promise<DashboardFiles> {
  const page = await readFile(path.join(FOLDER, 'index.html'), 'utf8');
  const folder = path.join(FOLDER, 'assets');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  const isEncoded = (name: string): boolean => ENCODINGS.some(({ suffix }) => name.endsWith(suffix));
  const known = new Set(names);
  const assets = await Promise.all(
    names
      .filter((name) => !isEncoded(name))
      .map(async (name) => {
        const encoded = new Map<string, Buffer>();
        for (const { name: encoding, suffix } of ENCODINGS) {
          if (known.has(name + suffix)) encoded.set(encoding, await readFile(path.join(folder, name + suffix)));
        }
        const content = await readFile(path.join(folder, name));
        return [name.split(path.sep).join('/'), { content, encoded }] as const;
      }),
  );
  return { page, assets: new Map(assets) };
}
