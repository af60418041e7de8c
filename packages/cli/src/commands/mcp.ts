/** `mcp`: the tools for language models, over standard input and output: started by an MCP client. */
import type { Command } from 'commander';
import type { OpenSession } from '../session.ts';

export function addMcpCommand(program: Command, open: OpenSession): void {
  program
    .command('mcp')
    .description('serve the Model Context Protocol on standard input and output, for language models')
    .action(async () => {
      // Here and not above: it takes longer to load than all other commands together.
      const { runMcpStdio } = await import('@darkroom/mcp/stdio');
      const { api, signal } = await open();
      await runMcpStdio(api, signal);
    });
}
