/**
 * Static files as a build wrote them (`dist/dashboard`, `dist/guide`): read once, each with its compressed forms,
 * looked up by exact name, so that no path of a request ever becomes a path on disk.
 */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import etag from 'etag';
import type { ParameterizedContext } from 'koa';
import { errorCodeOf } from '../../domain/darkroom-error.ts';

/** The compressed forms of a file, the smallest first: the encoding a browser may accept, and its file name suffix. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

/** For files whose names contain a hash of the content. */
export const CACHE_FOREVER = 'public, max-age=31536000, immutable';
/** Long enough for one visit; afterwards browsers revalidate with the entity tag. */
export const CACHE_AN_HOUR = 'public, max-age=3600';
/** For pages, which name the hashed files of their build: browsers revalidate them each time. */
export const CACHE_REVALIDATED = 'public, no-cache';

export interface StaticFile {
  /** A media type, or the ending of a file name that stands for one. */
  readonly type: string;
  readonly content: Buffer;
  /** The compressed contents, by the name of the encoding. Images and videos have none. */
  readonly encoded?: ReadonlyMap<string, Buffer>;
}

/** Files by their paths below the directory, with slashes. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

/**
 * @param directory an absolute path.
 * @returns reads the files, once they are built; until then, undefined.
 */
export function createStaticFiles(directory: string): () => Promise<StaticFiles | undefined> {
  let files: Promise<StaticFiles | undefined> | undefined;
  return () => {
    files ??= readFiles(directory).catch((error: unknown) => {
      files = undefined;
      if (errorCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    return files;
  };
}

async function readFiles(directory: string): Promise<StaticFiles> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)));
  const isEncoded = (name: string): boolean => ENCODINGS.some(({ suffix }) => name.endsWith(suffix));
  const known = new Set(names);
  const files = await Promise.all(
    names
      .filter((name) => !isEncoded(name))
      .map(async (name) => {
        const encoded = new Map<string, Buffer>();
        for (const { name: encoding, suffix } of ENCODINGS) {
          if (known.has(name + suffix)) encoded.set(encoding, await readFile(path.join(directory, name + suffix)));
        }
        const content = await readFile(path.join(directory, name));
        return [name.split(path.sep).join('/'), { type: path.extname(name), content, encoded }] as const;
      }),
  );
  return new Map(files);
}

/** Responds with the file, in the smallest form that the client accepts, or with 304 if the client has it. */
export function answerFile(ctx: ParameterizedContext, file: StaticFile, cacheControl: string): void {
  const encoding = file.encoded === undefined ? false : ctx.acceptsEncodings(...file.encoded.keys(), 'identity');
  const encoded = encoding === false ? undefined : file.encoded?.get(encoding);
  if (file.encoded !== undefined) ctx.vary('Accept-Encoding');
  if (encoded !== undefined && encoding !== false) ctx.set('Content-Encoding', encoding);
  const content = encoded ?? file.content;
  ctx.set('Cache-Control', cacheControl);
  ctx.set('ETag', etag(content));
  ctx.status = 200;
  ctx.type = file.type;
  ctx.body = content;
  if (ctx.fresh) {
    ctx.status = 304;
    ctx.body = null;
  }
}
