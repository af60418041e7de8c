/**
 * Definitions by their hash: stored when a process loads its catalogue, read by workers for the tasks accepted under
 * them. What a hash names never changes, so a definition once read is cached. Those of text models are not read here;
 * they are stored for the names that an installation knows.
 */
import type { TaskModality } from '@darkroom/api/facts/modalities';
import { LRUCache } from 'lru-cache';
import type { Database, Queryable, Statement } from '../database/database.ts';
import { definitionHash, fullNameOf } from './definition.ts';
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

const selectOfModality: Statement = {
  name: 'select_definitions_of_modality',
  text: `SELECT hash, name, ARRAY (SELECT jsonb_object_keys(definition -> 'routes')) AS routes
           FROM model_definitions WHERE definition ->> 'modality' = $1`,
};

/** What tasks of some definitions can be recognised by. */
export interface DefinitionNames {
  readonly hashes: readonly string[];
  /** The full names of the models, with each route. */
  readonly models: readonly string[];
}

export interface PinnedDefinitions {
  /** Stores definitions, so that tasks may name their hashes. */
  pin(definitions: readonly CatalogueModel[]): Promise<void>;
  /** @throws {Error} nothing was ever pinned under that hash. */
  read(hash: string): Promise<ModelDefinition>;
  /** All definitions of a modality that were ever pinned, whether the catalogue still has them or not. */
  ofModality(modality: TaskModality): Promise<DefinitionNames>;
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
    async ofModality(modality) {
      const rows = await database.query<{ hash: string; name: string; routes: string[] }>(selectOfModality, [modality]);
      const names = rows.flatMap(({ name, routes }) => routes.map((route) => fullNameOf(name, route)));
      return { hashes: rows.map(({ hash }) => hash), models: [...new Set(names)] };
    },
  };
}

const selectUnknown: Statement = {
  name: 'select_unknown_models',
  text: `SELECT w.name FROM unnest($1::text[]) WITH ORDINALITY AS w (name, place)
          WHERE NOT EXISTS (SELECT 1 FROM model_definitions d WHERE d.name = w.name) ORDER BY w.place`,
};

/**
 * For commands that work on the database alone.
 *
 * @returns the names that no api process has ever loaded, in their order.
 */
export async function findUnknownModels(database: Queryable, names: readonly string[]): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(selectUnknown, [names]);
  return rows.map(({ name }) => name);
}
