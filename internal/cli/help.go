package cli

// usage is the text of --help.
const usage = `isotope: a headless coding agent that answers the protocol of Atomic and pi

Usage:
  isotope --mode rpc [options]             commands on stdin, responses and events on stdout
  isotope --mode json [options] [prompt…]  run the prompts, events on stdout as JSON lines
  isotope -p [options] [prompt…]           run the prompts, print the answer
  isotope schema [--settings]              JSON Schema of the protocol, or of settings.json

  isotope auth login|logout PROVIDER       sign in, or store an API key; isotope auth list

  A prompt may also come on standard input. @FILE adds a file or a picture to the first one.
  Offline demo: isotope -p --model scripted/demo "What does this project do?"

Model:
  --model PATTERN          provider/id, id, or part of one; ":level" sets the thinking level
  --provider NAME          provider of --model
  --models A,B             models to cycle through (globs, ":level")
  --thinking LEVEL         off, minimal, low, medium, high, xhigh, max
  --api-key KEY            key for this run
  --list-models [SEARCH]   show the models that can be used; with --json as JSON lines

Session:
  -c, --continue           continue the newest session of this folder
  -r, --resume             choose one of this folder's sessions (in a terminal)
  --session PATH|ID        continue that session; a path that is not there is made
  --fork PATH|ID           continue a copy of that session in this folder
  --session-id ID          use that id, create the session if it is not there
  --session-dir DIR        where sessions are kept
  --no-session             keep nothing on disk
  --read-only              open the session to look only
  --durability WHEN        when the session is forced to the disk: none, settle (default), entry
  -n, --name NAME          display name of the session

Tools and prompt:
  -t, --tools LIST         the tools to use, or +name,-name changes to the default
  -xt, --exclude-tools LIST; -nt, --no-tools; -nbt, --no-builtin-tools
  --system-prompt TEXT|FILE, --append-system-prompt TEXT|FILE
  -nc, --no-context-files  leave AGENTS.md and the like out
  --skill PATH, -ns; --prompt-template PATH, -np; -e FILE, -ne; --no-themes

Trust:
  -a, --approve            use the project's own settings and resources
  -na, --no-approve        leave them out, and say nothing about it

Other:
  --dialect NAME           isotope, atomic or pi; also ISOTOPE_DIALECT or the program's name
  --snapshots              message_update in its older form, with the whole message so far
  --export FILE [OUT]      write a session as an HTML page, or as JSON lines when OUT ends in .jsonl
  --record FILE            write what the model sends as a script for the scripted provider
  --debug-http FILE        add what is sent to providers and comes back, without credentials
  --offline, --verbose, --no-color, --profile FILE
  -h, --help; -v, --version

Exit codes: 0 the last answer ended well; 1 it did not, or nothing could be started;
129, 130, 143 after SIGHUP, SIGINT, SIGTERM; 141 the reader of the output is gone.
`
