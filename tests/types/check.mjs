// Checks the scripts of the pages against the types that they declare in comments, as TypeScript does.
//
// Input: `modules`, the names that each generated module exports. Output: `files`, the scripts that were checked, and
// `errors`, a line each.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const here = dirname(fileURLToPath(import.meta.url));
const input = JSON.parse(readFileSync(0, "utf8"));

// The service makes these modules when it starts; here, their types are made.
const generated = new Map(
  Object.entries(input.modules).map(([module, names]) => [
    join(here, module.replace(/\.js$/, ".d.ts")),
    names.map((name) => `export const ${name}: string;\n`).join(""),
  ]),
);

const { config, error } = ts.readConfigFile(join(here, "tsconfig.json"), ts.sys.readFile);
if (error) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, "\n"));
const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, here);
const host = ts.createCompilerHost(options);
const { directoryExists, fileExists, readFile } = host;
host.directoryExists = (path) => path.startsWith(here) || directoryExists(path);
host.fileExists = (path) => generated.has(path) || fileExists(path);
host.readFile = (path) => generated.get(path) ?? readFile(path);
const program = ts.createProgram(fileNames, options, host);

const described = [...errors, ...ts.getPreEmitDiagnostics(program)].map(({ file, start, messageText }) => {
  const text = ts.flattenDiagnosticMessageText(messageText, "\n");
  if (!file) return text;
  const { line, character } = file.getLineAndCharacterOfPosition(start ?? 0);
  return `${relative(join(here, "../.."), file.fileName)}:${line + 1}:${character + 1}: ${text}`;
});
console.log(JSON.stringify({ files: fileNames.map((path) => relative(join(here, "../.."), path)), errors: described }));
