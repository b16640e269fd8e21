// What openai-node gets of answers with a false sentence in places that are not read; prints a line of JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { url, modules, body, cases, needle } = JSON.parse(process.argv[2]);
const require = createRequire(modules + "/");
const loaded = await import(pathToFileURL(require.resolve("openai")));
const OpenAI = loaded.OpenAI ?? loaded.default?.OpenAI ?? loaded.default;
const client = new OpenAI({ baseURL: url, apiKey: "sk-any", maxRetries: 0 });
const shown = [];
const statuses = {};

for (const { number, chat, stream } of cases) {
  const given = { ...body, user: String(number), stream };
  const api = chat ? client.chat.completions : client.responses;
  let status = 200;
  try {
    const answer = await api.create(chat ? { ...given, messages: [] } : { ...given, input: "When?" });
    const parts = [];
    if (stream) for await (const part of answer) parts.push(part);
    else parts.push(answer);
    if (JSON.stringify(parts).includes(needle)) shown.push(number);
  } catch (error) {
    status = error.status ?? String(error);
  }
  statuses[status] = (statuses[status] ?? 0) + 1;
}
console.log(JSON.stringify({ shown, statuses }));
