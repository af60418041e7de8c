/** Writes the types of the JavaScript SDK: `npm run ts -- test/sdk/render-javascript-types.ts`. */
import { writeFile } from 'node:fs/promises';
import { packageFile } from '../../src/config/package-root.ts';
import { JAVASCRIPT_TYPES, javascriptTypes } from './javascript-types.ts';

await writeFile(packageFile(JAVASCRIPT_TYPES), await javascriptTypes());
