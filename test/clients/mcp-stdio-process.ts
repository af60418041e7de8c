/** The tools over stdio as a process of its own, which a test's client starts. */
import { createApiClient } from '@darkroom/api/client/api-client';
import { runMcpStdio } from '@darkroom/mcp/stdio';

const { DARKROOM_BASE_URL: baseUrl = '', DARKROOM_API_KEY: apiKey = '' } = process.env;
await runMcpStdio(createApiClient({ baseUrl, apiKey }));
