/** Writes the generated files of the Python SDK: `npm run ts -- test/sdk/render-python.ts`. Needs Python. */
import { writeFile } from 'node:fs/promises';
import { packageFile } from '../../src/config/package-root.ts';
import { PYTHON_ASYNC_CLIENT, PYTHON_MODELS, pythonAsyncClient, pythonModels } from './python-sources.ts';

await writeFile(packageFile(PYTHON_MODELS), await pythonModels());
await writeFile(packageFile(PYTHON_ASYNC_CLIENT), await pythonAsyncClient());
