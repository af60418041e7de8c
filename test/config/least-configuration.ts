/** The variables without which nothing starts, and what the configuration reports about others. */
import assert from 'node:assert/strict';
import { ConfigurationError } from '../../src/config/environment.ts';

export const LEAST = {
  DATABASE_URL: 'postgres://user:5f3c1ab0@db:5432/darkroom',
  TEMPORAL_ADDRESS: 'temporal:7233',
  STORE_URL: 'file:///var/lib/darkroom',
  URL_SIGNING_KEY: '8c1f0e5b7a92d3461e0f7c5a9b28d364',
  ENCRYPTION_KEY: '1b9d4e7f0a3c6258d9e1f4b7a0c3d652',
};

/** @returns what is wrong with the configuration that is loaded; empty: nothing. */
export function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems;
  }
}
