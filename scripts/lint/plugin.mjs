/** Our own lint rules (docs of the interface: oxlint's JavaScript plugins, which are those of ESLint). */
import path from 'node:path';
import { problemOfSpecifier } from './modules.mjs';

const moduleOrder = {
  meta: { type: 'problem', docs: { description: 'A module imports only from the modules before it (modules.mjs).' } },
  create(context) {
    const file = path.relative(context.cwd, context.filename);

    function check(node, source, isTypeOnly) {
      const specifier = source?.value;
      if (typeof specifier !== 'string') return;
      const problem = problemOfSpecifier(toPosix(file), specifier, isTypeOnly);
      if (problem !== undefined) context.report({ node, message: `${problem} (scripts/lint/modules.mjs)` });
    }

    return {
      ImportDeclaration: (node) => check(node, node.source, isOfTypes(node)),
      ExportNamedDeclaration: (node) => check(node, node.source, isOfTypes(node)),
      ExportAllDeclaration: (node) => check(node, node.source, isOfTypes(node)),
      ImportExpression: (node) => check(node, node.source, false),
      TSImportType: (node) => check(node, node.source, true),
    };
  },
};

/** Whether an import is erased at run time. */
function isOfTypes(node) {
  return node.importKind === 'type' || node.exportKind === 'type';
}

function toPosix(file) {
  return file.split(path.sep).join('/');
}

export default { meta: { name: 'darkroom' }, rules: { 'module-order': moduleOrder } };
