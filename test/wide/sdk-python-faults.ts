/**
 * Programs that use the Python SDK against a server that does what a real one does only on bad days. Each prints one
 * line of JSON; `CLIENT` and the rest of the beginning are filled in.
 */

const BEGINNING = `
import asyncio, json, os, time
from darkroom import AsyncDarkroom, Darkroom

async def result(value):
    return await value if asyncio.iscoroutine(value) else value

async def error_of(call):
    try:
        await result(call())
    except Exception as error:
        return type(error).__name__

async def seqs_of(events):
    if hasattr(events, "__aiter__"):
        return [event.seq async for event in events]
    return [event.seq for event in events]

async def ids_of(results):
    if hasattr(results, "__aiter__"):
        return [result.custom_id async for result in results]
    return [result.custom_id for result in results]

def client(**changes):
    return CLIENT(base_url=os.environ["SERVICE_URL"], api_key="key", **changes)
`;

/** @param body of a coroutine, which prints. */
export function faultProgram(client: string, body: string): string {
  const lines = body.trim().split('\n');
  const main = lines.map((line) => `    ${line.trimStart()}`).join('\n');
  return `${BEGINNING.replaceAll('CLIENT', client)}\nasync def main():\n${main}\n\nasyncio.run(main())\n`;
}
