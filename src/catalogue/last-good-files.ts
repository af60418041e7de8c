/**
 * The content that the files of MODELS_DIR had when each of them last had no problem, in PostgreSQL. A running process
 * remembers it; this is for one that starts while a file is bad, which would otherwise stop an installation at its next
 * restart. Not for the built-in models, which the build has checked.
 */
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Queryable, Statement } from '../database/database.ts';
import { ModelFileError } from './model-files.ts';
import type { ModelTexts } from './model-files.ts';

export interface LastGoodFiles {
  /** By path; empty: none was ever good. */
  read(): Promise<ModelTexts>;
  /**
   * Stores the contents that are good, and forgets files that are gone.
   *
   * @param bad paths of files whose content is not, or of directories that cannot be read.
   */
  store(texts: ModelTexts, bad: ReadonlySet<string>): Promise<void>;
}

const selectFiles: Statement = {
  name: 'select_model_files',
  text: 'SELECT file, content FROM model_files WHERE starts_with(file, $1) ORDER BY file',
};
const storeFiles: Statement = {
  name: 'store_model_files',
  text: `INSERT INTO model_files AS f (file, hash, content)
         SELECT t.file, t.hash, t.content FROM unnest($1::text[], $2::text[], $3::text[]) AS t (file, hash, content)
          ORDER BY t.file
         ON CONFLICT (file) DO UPDATE SET hash = excluded.hash, content = excluded.content, good_since = now()
          WHERE f.hash <> excluded.hash`,
};
const deleteFiles: Statement = {
  name: 'delete_model_files',
  text: 'DELETE FROM model_files WHERE starts_with(file, $1) AND file <> ALL ($2::text[])',
};

/** @param directory the model files of the operator. */
export function createLastGoodFiles(database: Queryable, directory: string): LastGoodFiles {
  const within = path.join(directory, path.sep);
  return {
    async read() {
      const rows = await database.query<{ file: string; content: string }>(selectFiles, [within]);
      return new Map(rows.map(({ file, content }) => [file, content]));
    },
    async store(texts, bad) {
      const own = [...texts].filter(([file]) => file.startsWith(within) || file === directory);
      const good = own.flatMap(([file, text]) =>
        text instanceof ModelFileError || bad.has(file) ? [] : [{ file, text }],
      );
      await database.query(storeFiles, [
        good.map(({ file }) => file),
        good.map(({ text }) => createHash('sha256').update(text).digest('hex')),
        good.map(({ text }) => text),
      ]);
      // Files of a directory that cannot be read are not gone.
      if (own.every(([file, text]) => !(text instanceof ModelFileError) || file.endsWith('.json'))) {
        await database.query(deleteFiles, [within, own.map(([file]) => file)]);
      }
    },
  };
}
