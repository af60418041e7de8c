/**
 * Loaded before a test file on a newer Node: there, the tests import the newest major of OpenAI's client, which is installed
 * apart, by the name of the one that runs on this project's oldest Node.
 */
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const OF_CLIENTS = /^openai(?:\/|$)/;
const OUR_TESTS = new URL('../../../dist/', import.meta.url).href;
const installed = pathToFileURL(path.join(process.env.DARKROOM_TEST_NEWEST_CLIENTS, 'any.mjs')).href;

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = context.parentURL?.startsWith(OUR_TESTS) && OF_CLIENTS.test(specifier);
    return next(specifier, isOurs ? { ...context, parentURL: installed } : context);
  },
});
