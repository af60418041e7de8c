#!/usr/bin/env node
/**
 * The entry of the built program: its bundle, which starts in half the time of its modules. Coverage is of modules, and
 * so is a copy without the bundle.
 */
import { existsSync } from 'node:fs';
import process from 'node:process';

const bundle = new URL('../program/program.js', import.meta.url);
if (process.env['NODE_V8_COVERAGE'] === undefined && existsSync(bundle)) {
  // Stacks name modules all the same.
  process.setSourceMapsEnabled(true);
  await import(bundle.href);
} else {
  await import('./program.ts');
}
