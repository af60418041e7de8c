/**
 * The names of models that the processes of an installation have loaded, for commands that work on its database
 * alone.
 */
import type { Queryable, Statement } from '../database/database.ts';

const selectUnknown: Statement = {
  name: 'select_unknown_models',
  text: `SELECT w.name FROM unnest($1::text[]) WITH ORDINALITY AS w (name, place)
          WHERE NOT EXISTS (SELECT 1 FROM model_definitions d WHERE d.name = w.name) ORDER BY w.place`,
};

/** @returns the names that no api process has ever loaded, in their order. */
export async function findUnknownModels(database: Queryable, names: readonly string[]): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(selectUnknown, [names]);
  return rows.map(({ name }) => name);
}
