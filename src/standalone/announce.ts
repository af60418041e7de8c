/**
 * What `npm start` prints when everything is healthy: the addresses, and commands that work when pasted.
 */
import path from 'node:path';
import { signInUrl } from '../accounts/sessions.ts';
import { adminCommand } from '../config/config.ts';
import type { InstallationFacts } from './installation.ts';

const EXAMPLE_BODY = '{"model":"darkroom/scene","input":{"prompt":"a lighthouse on a cliff at sunset, \\"hello\\""}}';
const EXAMPLE_CHAT = JSON.stringify({
  model: 'darkroom/conformance-text',
  messages: [{ role: 'user', content: 'What is 17 * 3?' }],
});

/** The whole announcement. It contains a key only if the key was just created. */
export function announce(facts: InstallationFacts): string {
  const { apiUrl, publicUrl, adminUrl, temporalTasksUrl, dataDir, firstRun } = facts;
  const admin = adminCommand(dataDir);
  const lines = [
    '',
    'Darkroom is running. Its dashboard, by a link that works once, within ten minutes:',
    '',
    `  ${signInUrl(publicUrl, firstRun.signInSecret)}`,
    '',
    `  API          ${apiUrl}/v1`,
    `  Admin        ${adminUrl}/admin`,
    ...(temporalTasksUrl === undefined ? [] : [`  Temporal UI  ${temporalTasksUrl}`]),
    `  Data folder  ${dataDir}`,
    `  Logs         ${path.join(dataDir, 'logs')}`,
    `  Account      ${firstRun.accountId}, balance $${firstRun.balanceUsd}`,
    '',
    ...(firstRun.apiKey === undefined ? howToGetKey(admin) : firstSteps(apiUrl, firstRun.apiKey)),
    `Another link:  ${admin} sign-in-link`,
    `Top up:        ${admin} accounts top-up ${firstRun.accountId} --usd 10`,
    `Admin token:   ${admin} admin-token show`,
    'Stop:          Ctrl-C',
    '',
  ];
  return lines.join('\n');
}

function howToGetKey(admin: string): string[] {
  return [
    'The API key was shown at the first start. To create another, run in a second terminal:',
    `New key:       ${admin} keys create`,
  ];
}

/** The answers are saved to a file, so that each line can be pasted as it is. */
function firstSteps(apiUrl: string, apiKey: string): string[] {
  const authorization = `-H 'Authorization: Bearer ${apiKey}'`;
  const curl = apiUrl.startsWith('https:') ? 'curl -sSk' : 'curl -sS';
  const taskId = `$(grep -o 'tk-svc-[0-9A-Z]*' task.json | head -1)`;
  const outputUrl = `$(grep -o '"url":"[^"]*' task.json | head -1 | cut -c8-)`;
  const download = `${curl} -o image.png "${outputUrl}" && echo 'Saved as image.png.'`;
  return [
    'Your API key, shown only this once:',
    '',
    `  ${apiKey}`,
    '',
    'Paste these into a second terminal. Create an image:',
    '',
    `  ${curl} ${apiUrl}/v1/tasks ${authorization} -H 'Content-Type: application/json' -d '${EXAMPLE_BODY}' | tee task.json`,
    '',
    'Get its status as soon as it changes, or after 30 s (repeat until it is "success"):',
    '',
    `  ${curl} ${apiUrl}/v1/tasks/${taskId} ${authorization} -H 'Prefer: wait=30' -o task.json && cat task.json`,
    '',
    'Download it:',
    '',
    `  if grep -q '"status":"success"' task.json; then ${download}; else echo 'No success yet: get its status again.'; fi`,
    '',
    'Send a request to a text model:',
    '',
    `  ${curl} ${apiUrl}/v1/chat/completions ${authorization} -H 'Content-Type: application/json' -d '${EXAMPLE_CHAT}'`,
    '',
  ];
}
