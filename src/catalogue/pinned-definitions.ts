/**
 * Definitions by their hash: stored when a process loads its catalogue, read by workers for the tasks accepted under
 * them. What a hash names never changes, so a definition once read is cached. Those of text models are not read here;
 * they are stored for the names that an installation knows (known-models.ts).
 */
import { LRUCache } from 'lru-cache';
import type { Database, Statement } from '../database/database.ts';
import { definitionHash } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { isMediaModel } from './text-definition.ts';
import type { CatalogueModel } from './text-definition.ts';

/** The maximum number of cached definitions, some kilobytes each. */
const CACHED_DEFINITIONS = 500;

const insertDefinition: Statement = {
  name: 'insert_model_definition',
  text: `INSERT INTO model_definitions (hash, name, definition) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING`,
};
const selectDefinition: Statement = {
  name: 'select_model_definition',
  text: 'SELECT definition FROM model_definitions WHERE hash = $1',
};

export interface PinnedDefinitions {
  /** Stores definitions, so that tasks may name their hashes. */
  pin(definitions: readonly CatalogueModel[]): Promise<void>;
  /** @throws {Error} nothing was ever pinned under that hash. */
  read(hash: string): Promise<ModelDefinition>;
}

export function createPinnedDefinitions(database: Database): PinnedDefinitions {
  const cache = new LRUCache<string, ModelDefinition>({ max: CACHED_DEFINITIONS });
  return {
    async pin(definitions) {
      for (const definition of definitions) {
        const hash = definitionHash(definition);
        await database.query(insertDefinition, [hash, definition.name, JSON.stringify(definition)]);
        if (isMediaModel(definition)) cache.set(hash, definition);
      }
    },
    async read(hash) {
      const cached = cache.get(hash);
      if (cached !== undefined) return cached;
      const [row] = await database.query<{ definition: ModelDefinition }>(selectDefinition, [hash]);
      if (row === undefined) throw new Error(`no model definition is pinned under ${hash}`);
      cache.set(hash, row.definition);
      return row.definition;
    },
  };
}
