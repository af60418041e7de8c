/** The tools over stdio as a process of its own, which a test's client starts. */
import { createApiClient } from '../../clients/src/api/api-client.ts';
import { runMcpStdio } from '../../clients/src/mcp/stdio.ts';

const { DARKROOM_BASE_URL: baseUrl = '', DARKROOM_API_KEY: apiKey = '' } = process.env;
await runMcpStdio(createApiClient({ baseUrl, apiKey }));
