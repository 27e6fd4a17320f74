# shellcheck shell=bash
# shellcheck disable=SC2034  # Callers read the variables LANYARD_….
#
# Lanyard for bash (4.4 and later) and zsh (5.8 and later): source this file.
#
#   . lanyard.sh
#   lanyard_token -v token work && …
#
#   lanyard_token   an access token            lanyard_can     may the account do this now?
#   lanyard_call    any method of the agent    lanyard_status  the agent and the account
#   lanyard_events  events as they happen      lanyard_curl    curl with the token
#   lanyard_retry   a function again, as the agent advises
#
# Each works through the command `lanyard` (LANYARD_BIN names another), which finds the agent and starts it. A failure
# returns the exit code of that command, prints a line on stderr, and sets:
#
#   LANYARD_ERROR_NAME     such as reauthenticationRequired     LANYARD_ERROR_RETRYABLE       true or false
#   LANYARD_ERROR_CODE     such as 2004; empty if not of the    LANYARD_ERROR_RETRY_AFTER_MS  the pause that is asked for
#                          agent                                LANYARD_ERROR_ACCOUNT         the account's id
#   LANYARD_ERROR_MESSAGE  for a person                         LANYARD_ERROR_REMEDIES        words, parted by spaces
#   LANYARD_ERROR_REASON   such as outcomeUnknown               LANYARD_ERROR_DATA            all that was told, as JSON
#
# `-v VAR` sets a variable of the caller instead of printing. Use it for secrets and wherever the variables above are
# read: `$(…)` is a process of its own, whose variables are lost, and `set -x` shows what is assigned from it.
#
# How secrets are kept: they go to other programs through pipes, never as arguments, in the environment or in files.
# The functions turn off `set -x`, `set -v` and `set -a` for themselves. All their variables begin with `__lanyard_`, so
# that none is exported by chance or hides the one that `-v` names.

if [ -z "${BASH_VERSION-}${ZSH_VERSION-}" ]; then
  echo 'lanyard.sh: needs bash or zsh' >&2
  # shellcheck disable=SC2317  # `exit` is reached where this file is run instead of sourced.
  return 2 2>/dev/null || exit 2
fi

LANYARD_SHELL_VERSION=1.0.0

# Each public function begins with a prelude: the options that it relies on, for itself alone. It can't be a function,
# since options are restored where a function ends.

# Prints an access token, or sets VAR to it.
#   lanyard_token [-v VAR] [-t SECONDS] [-s SCOPE]… [--aud RESOURCE] [-f] [-T SECONDS] [ACCOUNT]
# -t: how long it must be valid; -f: a new one from the provider; -T: how long this may take.
lanyard_token() {
  if [ -n "${ZSH_VERSION-}" ]; then emulate -L zsh; else local -; fi 2>/dev/null
  { set +aefuvx; } 2>/dev/null
  if __lanyard_folds; then __lanyard_unfolded lanyard_token "$@"; return; fi
  local +x IFS=$' \t\n' __lanyard_var='' __lanyard_seconds='' __lanyard_out='' __lanyard_value='' __lanyard_self=lanyard_token
  __lanyard_begin
  local __lanyard_arguments
  __lanyard_arguments=(token --json --quiet)
  while [ $# -gt 0 ]; do
    case $1 in
      -v | -T | -t | -s | --aud | -u)
        [ $# -gt 1 ] || { __lanyard_usage "$1 needs a value"; return; }
        case $1 in
          -v) __lanyard_var=$2 ;;
          -T) __lanyard_seconds=$2 ;;
          -t) __lanyard_arguments+=(--minimum-lifetime "$2") ;;
          -s) __lanyard_arguments+=(--scope "$2") ;;
          --aud) __lanyard_arguments+=(--aud "$2") ;;
          -u) __lanyard_arguments+=(--account "$2") ;;
        esac
        shift 2
        ;;
      -f) __lanyard_arguments+=(--force) && shift ;;
      --) shift && break ;;
      -*) __lanyard_usage "unknown option $1"; return ;;
      *) break ;;
    esac
  done
  if [ $# -gt 1 ]; then __lanyard_usage 'too many arguments'; return; fi
  if [ $# -eq 1 ]; then __lanyard_arguments+=(--account "$1"); fi
  __lanyard_target "$__lanyard_var" || return
  __lanyard_run "${__lanyard_arguments[@]}" || return
  __lanyard_member accessToken "$__lanyard_out"
  __lanyard_out=''
  if ! __lanyard_is_header "$__lanyard_value"; then
    __lanyard_fail 3 protocolError 'the agent told no access token'
    return
  fi
  __lanyard_answer "$__lanyard_var" "$__lanyard_value"
}

# Calls a method of the agent, and prints its result as JSON on one line, or sets VAR to it.
#   lanyard_call [-v VAR] [-u ACCOUNT] [-T SECONDS] METHOD [JSON | -]
# `-` reads the parameters from stdin, where other programs can't see them in an argument of yours.
lanyard_call() {
  if [ -n "${ZSH_VERSION-}" ]; then emulate -L zsh; else local -; fi 2>/dev/null
  { set +aefuvx; } 2>/dev/null
  if __lanyard_folds; then __lanyard_unfolded lanyard_call "$@"; return; fi
  local +x IFS=$' \t\n' __lanyard_var='' __lanyard_seconds='' __lanyard_out='' __lanyard_value='' __lanyard_self=lanyard_call
  __lanyard_begin
  local __lanyard_arguments
  __lanyard_arguments=(--json --quiet)
  while [ $# -gt 0 ]; do
    case $1 in
      -v | -T | -u)
        [ $# -gt 1 ] || { __lanyard_usage "$1 needs a value"; return; }
        case $1 in
          -v) __lanyard_var=$2 ;;
          -T) __lanyard_seconds=$2 ;;
          -u) __lanyard_arguments+=(--account "$2") ;;
        esac
        shift 2
        ;;
      --) shift && break ;;
      -*) __lanyard_usage "unknown option $1"; return ;;
      *) break ;;
    esac
  done
  if [ $# -lt 1 ]; then __lanyard_usage 'names no method'; return; fi
  if [ $# -gt 2 ]; then __lanyard_usage 'too many arguments'; return; fi
  __lanyard_target "$__lanyard_var" || return
  if [ "${2-}" = - ]; then
    __lanyard_run rpc "${__lanyard_arguments[@]}" -- "$1" - || return
  else
    # `{}` where there are no params: a method with none takes it, too.
    __lanyard_send "${2:-"{}"}" rpc "${__lanyard_arguments[@]}" -- "$1" - || return
  fi
  case $__lanyard_out in
    '{'*) __lanyard_answer "$__lanyard_var" "$__lanyard_out" ;;
    *) __lanyard_fail 3 protocolError 'the result is not an object' ;;
  esac
}

# Prints events as they happen, each as JSON on one line, until it is interrupted or the reader has gone.
#   lanyard_events [--type TYPE]… [-u ACCOUNT] [--since EPOCH:SEQUENCE] [--position] [--once]
# It outlives the agent: it subscribes again after the last event, and an event of the type event.gap tells where some
# were missed. `--once` ends with the agent instead. Only the first subscription starts an agent. With `--position` the
# first line tells where the stream begins: look at the state once it is there, and you miss nothing.
lanyard_events() {
  if [ -n "${ZSH_VERSION-}" ]; then emulate -L zsh; else local -; fi 2>/dev/null
  { set +aefuvx; } 2>/dev/null
  if __lanyard_folds; then __lanyard_unfolded lanyard_events "$@"; return; fi
  local +x IFS=$' \t\n' __lanyard_since='' __lanyard_once='' __lanyard_shown='' __lanyard_end='' __lanyard_out='' __lanyard_status=''
  local +x __lanyard_self=lanyard_events __lanyard_seconds='' __lanyard_value='' __lanyard_begun='' __lanyard_pause=0.05
  __lanyard_begin
  local __lanyard_arguments
  __lanyard_arguments=(events --json --quiet --position)
  while [ $# -gt 0 ]; do
    case $1 in
      --type | -u | --since)
        [ $# -gt 1 ] || { __lanyard_usage "$1 needs a value"; return; }
        case $1 in
          --type) __lanyard_arguments+=(--type "$2") ;;
          -u) __lanyard_arguments+=(--account "$2") ;;
          --since) __lanyard_since=$2 ;;
        esac
        shift 2
        ;;
      --once) __lanyard_once=1 && shift ;;
      --position) __lanyard_shown=1 && shift ;;
      *) __lanyard_usage "unknown argument $1"; return ;;
    esac
  done
  while :; do
    # Descriptor 3 is this function's stdout, on which the events go; the end of the stream is captured.
    {
      __lanyard_end=$(
        {
          __lanyard_command "${__lanyard_arguments[@]}" ${__lanyard_begun:+--no-start} \
            ${__lanyard_since:+"--since=$__lanyard_since"} 2>&1 3>&- </dev/null
          builtin printf 'exit %s\n' "$?"
        } | __lanyard_follow
      )
    } 3>&1
    __lanyard_status=${__lanyard_end%%$'\n'*}
    __lanyard_end=${__lanyard_end#*$'\n'}
    # Begun, and where it stands: lines of their own, before the error.
    if [ "${__lanyard_end%%$'\n'*}" = begun ]; then __lanyard_begun=1 __lanyard_shown='' __lanyard_pause=0.05; fi
    __lanyard_end=${__lanyard_end#*$'\n'}
    __lanyard_since=${__lanyard_end%%$'\n'*}
    __lanyard_out=${__lanyard_end#*$'\n'}
    # The reader has gone, or this stream was interrupted.
    case $__lanyard_status in '' | closed) return 0 ;; 0 | 130 | 143) return "$__lanyard_status" ;; esac
    __lanyard_tell_error "$__lanyard_status"
    if [ -n "$__lanyard_once" ] || [ -z "$__lanyard_begun" ] || [ "$LANYARD_ERROR_RETRYABLE" != true ]; then
      __lanyard_say
      return "$__lanyard_status"
    fi
    command sleep "$__lanyard_pause" || return
    case $__lanyard_pause in
      0.05) __lanyard_pause=0.1 ;; 0.1) __lanyard_pause=0.2 ;; 0.2) __lanyard_pause=0.4 ;; 0.4) __lanyard_pause=0.8 ;;
      0.8) __lanyard_pause=1.6 ;; 1.6) __lanyard_pause=3.2 ;; *) __lanyard_pause=5 ;;
    esac
  done
}

# Returns 0 if the account may do something now. Prints nothing; -v sets VAR to the decision, as JSON.
#   lanyard_can [-v VAR] [--sensitivity LEVEL] [--wait SECONDS] [-T SECONDS] CAPABILITY [ACCOUNT]
# 6: denied; 7: confirm that it is you (`lanyard step-up`); 4: sign in again. LANYARD_EFFECT and LANYARD_REASON tell why;
# LANYARD_ERROR_NAME is set only if there is no decision.
lanyard_can() {
  if [ -n "${ZSH_VERSION-}" ]; then emulate -L zsh; else local -; fi 2>/dev/null
  { set +aefuvx; } 2>/dev/null
  if __lanyard_folds; then __lanyard_unfolded lanyard_can "$@"; return; fi
  local +x IFS=$' \t\n' __lanyard_var='' __lanyard_seconds='' __lanyard_out='' __lanyard_value='' __lanyard_status=0
  local +x __lanyard_self=lanyard_can
  __lanyard_begin
  LANYARD_EFFECT='' LANYARD_REASON=''
  local __lanyard_arguments
  __lanyard_arguments=(can --json --quiet)
  while [ $# -gt 0 ]; do
    case $1 in
      -v | -T | -u | --sensitivity | --wait)
        [ $# -gt 1 ] || { __lanyard_usage "$1 needs a value"; return; }
        case $1 in
          -v) __lanyard_var=$2 ;;
          -T) __lanyard_seconds=$2 ;;
          -u) __lanyard_arguments+=(--account "$2") ;;
          *) __lanyard_arguments+=("$1=$2") ;;
        esac
        shift 2
        ;;
      --) shift && break ;;
      -*) __lanyard_usage "unknown option $1"; return ;;
      *) break ;;
    esac
  done
  if [ $# -lt 1 ] || [ $# -gt 2 ]; then __lanyard_usage 'takes a capability and an account'; return; fi
  if [ $# -eq 2 ]; then __lanyard_arguments+=(--account "$2"); fi
  __lanyard_target "$__lanyard_var" || return
  __lanyard_run "${__lanyard_arguments[@]}" -- "$1" || {
    __lanyard_status=$?
    # A denial is an answer, too.
    if [ -n "$LANYARD_ERROR_NAME" ]; then return "$__lanyard_status"; fi
  }
  __lanyard_member effect "$__lanyard_out"
  LANYARD_EFFECT=$__lanyard_value
  __lanyard_member reason "$__lanyard_out"
  LANYARD_REASON=$__lanyard_value
  if [ -n "$__lanyard_var" ]; then __lanyard_answer "$__lanyard_var" "$__lanyard_out"; fi
  return "$__lanyard_status"
}

# Prints the agent and the account that is used here, as JSON on one line, or sets VAR to it.
#   lanyard_status [-v VAR] [-T SECONDS] [ACCOUNT]
lanyard_status() {
  if [ -n "${ZSH_VERSION-}" ]; then emulate -L zsh; else local -; fi 2>/dev/null
  { set +aefuvx; } 2>/dev/null
  if __lanyard_folds; then __lanyard_unfolded lanyard_status "$@"; return; fi
  local +x IFS=$' \t\n' __lanyard_var='' __lanyard_seconds='' __lanyard_out='' __lanyard_value='' __lanyard_self=lanyard_status
  __lanyard_begin
  while [ $# -gt 0 ]; do
    case $1 in
      -v | -T)
        [ $# -gt 1 ] || { __lanyard_usage "$1 needs a value"; return; }
        if [ "$1" = -v ]; then __lanyard_var=$2; else __lanyard_seconds=$2; fi
        shift 2
        ;;
      --) shift && break ;;
      -*) __lanyard_usage "unknown option $1"; return ;;
      *) break ;;
    esac
  done
  if [ $# -gt 1 ]; then __lanyard_usage 'too many arguments'; return; fi
  __lanyard_target "$__lanyard_var" || return
  __lanyard_run status --json --quiet ${1+--account} ${1+"$1"} || return
  __lanyard_answer "$__lanyard_var" "$__lanyard_out"
}

# Runs a command, and runs it again while its failure says that a retry may succeed. The pause is what the agent asks
# for, else 1 s doubling to 30 s.
#   lanyard_retry [-n TRIES] COMMAND…      (TRIES: 5 in all)
lanyard_retry() {
  local +x __lanyard_tries=5 __lanyard_wait=1000 __lanyard_code=0 __lanyard_ms
  if [ "${1-}" = -n ]; then
    case ${2-} in '' | *[!0-9]*) echo 'lanyard_retry: -n needs a number' >&2 && return 2 ;; esac
    __lanyard_tries=$2
    shift 2
  fi
  while :; do
    LANYARD_ERROR_NAME='' LANYARD_ERROR_RETRYABLE='' LANYARD_ERROR_RETRY_AFTER_MS=''
    __lanyard_code=0
    "$@" || __lanyard_code=$?
    if [ "$__lanyard_code" -eq 0 ]; then return 0; fi
    __lanyard_tries=$((__lanyard_tries - 1))
    if [ "$__lanyard_tries" -le 0 ] || [ "$LANYARD_ERROR_RETRYABLE" != true ]; then return "$__lanyard_code"; fi
    __lanyard_ms=${LANYARD_ERROR_RETRY_AFTER_MS:-$__lanyard_wait}
    __lanyard_wait=$((__lanyard_wait * 2 > 30000 ? 30000 : __lanyard_wait * 2))
    command sleep "$((__lanyard_ms / 1000)).$(builtin printf '%03d' $((__lanyard_ms % 1000)))" || return
  done
}

# Sends a request with curl and the token of an account, only to the origins that are named.
#   lanyard_curl [-v VAR] [-s SCOPE]… [--aud RESOURCE] ACCOUNT ORIGIN… -- [CURL OPTION]… URL
# Prints what curl prints once the response is there, and sets LANYARD_HTTP_STATUS. A token that the server refuses (401)
# is reported, and the request is sent once more with the next one. A token that is bound (DPoP) gets its proof.
# Redirects are not followed. Of curl's options those are taken that send the token nowhere else.
lanyard_curl() {
  if [ -n "${ZSH_VERSION-}" ]; then emulate -L zsh; else local -; fi 2>/dev/null
  { set +aefuvx; } 2>/dev/null
  if __lanyard_folds; then __lanyard_unfolded lanyard_curl "$@"; return; fi
  local +x IFS=$' \t\n' __lanyard_var='' __lanyard_seconds='' __lanyard_out='' __lanyard_value='' __lanyard_account=''
  local +x __lanyard_origin='' __lanyard_url='' __lanyard_method='' __lanyard_body='' __lanyard_again=1 __lanyard_covered=''
  local +x __lanyard_token='' __lanyard_type='' __lanyard_fingerprint='' __lanyard_proof='' __lanyard_nonce=''
  local +x __lanyard_fd='' __lanyard_headers='' __lanyard_challenge='' __lanyard_status=0 __lanyard_self=lanyard_curl
  local +x __lanyard_rejected='' __lanyard_told='' __lanyard_head=''
  local -l __lanyard_name=''
  __lanyard_begin
  LANYARD_HTTP_STATUS='' LANYARD_CURL_EXIT=''
  local __lanyard_arguments __lanyard_curl
  __lanyard_arguments=(token --json --quiet)
  __lanyard_curl=()
  while [ $# -gt 0 ]; do
    case $1 in
      -v | -s | --aud)
        [ $# -gt 1 ] || { __lanyard_usage "$1 needs a value"; return; }
        case $1 in
          -v) __lanyard_var=$2 ;;
          -s) __lanyard_arguments+=(--scope "$2") ;;
          --aud) __lanyard_arguments+=(--aud "$2") ;;
        esac
        shift 2
        ;;
      -*) __lanyard_usage "unknown option $1; curl's own stand behind --"; return ;;
      *) break ;;
    esac
  done
  __lanyard_target "$__lanyard_var" || return
  __lanyard_account=${1-}
  if [ -z "$__lanyard_account" ]; then __lanyard_usage 'names no account'; return; fi
  shift
  # The origins, parted by spaces: an origin holds none.
  local +x __lanyard_origins=''
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    if ! __lanyard_origin_of "$1" || [ -n "$__lanyard_value" ]; then
      __lanyard_usage "not an origin, such as https://api.example: $1"
      return
    fi
    __lanyard_origins="$__lanyard_origins $__lanyard_origin"
    shift
  done
  if [ "${1-}" != -- ] || [ -z "$__lanyard_origins" ]; then __lanyard_usage 'names no origin, or no -- behind them'; return; fi
  shift

  while [ $# -gt 1 ]; do
    case $1 in
      -X | --request | -H | --header | -d | --data | --data-raw | --data-ascii | --data-binary | --data-urlencode | --json | \
        -F | --form | --form-string | -T | --upload-file | -o | --output | -w | --write-out | -A | --user-agent | -m | \
        --max-time | --connect-timeout | --cacert | --capath | -r | --range | --max-filesize | --limit-rate)
        [ $# -gt 2 ] || { __lanyard_usage "curl's $1 needs a value, and a URL behind it"; return; }
        # A line break in a header would begin another one.
        case $1:$2 in
          -[XHAr]:*[[:cntrl:]]* | --request:*[[:cntrl:]]* | --header:*[[:cntrl:]]* | --user-agent:*[[:cntrl:]]* | \
            --range:*[[:cntrl:]]*)
            __lanyard_usage "curl's $1 is one line"
            return
            ;;
        esac
        case $1 in
          -X | --request) __lanyard_method=$2 ;;
          -H | --header)
            __lanyard_name=${2%%[:;]*}
            __lanyard_name=${__lanyard_name%%[[:space:]]*}
            case $__lanyard_name in
              '' | authorization | proxy-authorization | dpop | host | @*)
                __lanyard_usage "the header can't be given here: $__lanyard_name"
                return
                ;;
            esac
            ;;
          -F | --form)
            __lanyard_body=${__lanyard_body:-POST}
            case $2 in *=[@\<]*) __lanyard_value=${2#*=[@<]} && __lanyard_file "${__lanyard_value%%[;,]*}" || return ;; esac
            ;;
          --form-string | --data-raw) __lanyard_body=${__lanyard_body:-POST} ;;
          --data-urlencode)
            __lanyard_body=${__lanyard_body:-POST}
            case $2 in
              *=*) ;;
              *@*) __lanyard_file "${2#*@}" || return ;;
            esac
            ;;
          -d | --data* | --json)
            __lanyard_body=${__lanyard_body:-POST}
            case $2 in @*) __lanyard_file "${2#@}" || return ;; esac
            ;;
          -T | --upload-file)
            __lanyard_body=PUT
            __lanyard_file "$2" || return
            ;;
        esac
        __lanyard_curl+=("$1" "$2")
        shift 2
        ;;
      -I | --head) __lanyard_body=HEAD && __lanyard_curl+=("$1") && shift ;;
      -G | --get) __lanyard_body=GET && __lanyard_curl+=("$1") && shift ;;
      -s | -S | -sS | -f | --silent | --show-error | --fail | --fail-with-body | -i | --include | --compressed | --http1.1 | \
        --http2 | -4 | -6 | --ipv4 | --ipv6 | --path-as-is)
        __lanyard_curl+=("$1")
        shift
        ;;
      *) __lanyard_usage "curl's option can't be given here: $1"; return ;;
    esac
  done
  __lanyard_url=${1-}
  __lanyard_method=${__lanyard_method:-${__lanyard_body:-GET}}

  if ! __lanyard_origin_of "$__lanyard_url"; then
    __lanyard_fail 2 originRefused 'the URL is none of http or https, or is not plain; nothing was sent'
    return
  fi
  case " $__lanyard_origins " in *" $__lanyard_origin "*) __lanyard_covered=1 ;; esac
  if [ -z "$__lanyard_covered" ]; then
    __lanyard_fail 2 originRefused "$__lanyard_origin is none of the named origins; nothing was sent"
    return
  fi
  case $__lanyard_origin in
    https://*) ;;
    *)
      if ! __lanyard_is_loopback "$__lanyard_origin"; then
        __lanyard_fail 2 originRefused "$__lanyard_origin is not encrypted, and not this machine; nothing was sent"
        return
      fi
      # A proxy would read what is not encrypted.
      __lanyard_curl+=(--noproxy '*')
      ;;
  esac

  __lanyard_run "${__lanyard_arguments[@]}" --account "$__lanyard_account" || return
  __lanyard_read_token || return
  __lanyard_exchange || __lanyard_status=$?
  __lanyard_token='' __lanyard_proof=''
  if [ -n "$__lanyard_told" ] && [ -n "$__lanyard_var" ]; then
    __lanyard_out=$(command cat /dev/fd/8 8<&"$__lanyard_fd")
    builtin printf -v "$__lanyard_var" %s "$__lanyard_out"
  elif [ -n "$__lanyard_told" ]; then
    command cat /dev/fd/8 8<&"$__lanyard_fd"
  fi
  __lanyard_close
  return "$__lanyard_status"
}

# What follows is this file's own, and may change. Results are left in the variables of the calling function.

# True where bash would take -T for -t. It keeps `nocasematch` apart from the options that `local -` restores.
__lanyard_folds() { [ -n "${BASH_VERSION-}" ] && shopt -q nocasematch; }

# Runs a function of this file without `nocasematch`.
__lanyard_unfolded() {
  shopt -u nocasematch
  "$@"
  set -- "$?"
  shopt -s nocasematch
  return "$1"
}

# Forgets the last error.
__lanyard_begin() {
  LANYARD_ERROR_NAME='' LANYARD_ERROR_CODE='' LANYARD_ERROR_MESSAGE='' LANYARD_ERROR_REASON='' LANYARD_ERROR_RETRYABLE=''
  LANYARD_ERROR_RETRY_AFTER_MS='' LANYARD_ERROR_ACCOUNT='' LANYARD_ERROR_REMEDIES='' LANYARD_ERROR_DATA=''
}

# The variables are there from the start: for `set -u`, and for zsh's `warn_create_global`.
__lanyard_begin
LANYARD_EFFECT='' LANYARD_REASON='' LANYARD_HTTP_STATUS='' LANYARD_CURL_EXIT=''

# Checks a name for `-v`.
__lanyard_target() {
  case $1 in
    '') return 0 ;;
    [!A-Za-z_]* | *[!A-Za-z0-9_]* | __lanyard_*) __lanyard_usage "not a name of a variable: $1" ;;
  esac
}

# Sets the variable $1 to $2, or prints $2.
__lanyard_answer() {
  if [ -n "$1" ]; then builtin printf -v "$1" %s "$2"; else builtin printf '%s\n' "$2"; fi
}

# The command, with its arguments. `timeout` ends it, which cancels its request in the agent.
__lanyard_command() {
  if [ -n "$__lanyard_seconds" ]; then
    command timeout --foreground -- "$__lanyard_seconds" "${LANYARD_BIN:-lanyard}" "$@"
  else
    command "${LANYARD_BIN:-lanyard}" "$@"
  fi
}

# Runs the command, and leaves its answer in __lanyard_out. With `-` at the end it reads the caller's stdin.
__lanyard_run() {
  local +x __lanyard_ran=0 __lanyard_last=''
  for __lanyard_last in "$@"; do :; done
  if [ "$__lanyard_last" = - ]; then
    __lanyard_out=$(__lanyard_command "$@" 2>&1) || __lanyard_ran=$?
  else
    __lanyard_out=$(__lanyard_command "$@" 2>&1 </dev/null) || __lanyard_ran=$?
  fi
  __lanyard_ended "$__lanyard_ran"
}

# As __lanyard_run, with $1 on stdin.
__lanyard_send() {
  local +x __lanyard_ran=0 __lanyard_json=$1
  shift
  __lanyard_out=$(builtin printf %s "$__lanyard_json" | __lanyard_command "$@" 2>&1) || __lanyard_ran=$?
  __lanyard_ended "$__lanyard_ran"
}

__lanyard_ended() {
  if [ "$1" -eq 0 ]; then return 0; fi
  case $1:$__lanyard_out in
    *:'{"error":'*) ;;
    # The decision of `lanyard can`.
    [467]:'{'*) return "$1" ;;
  esac
  __lanyard_tell_error "$1"
  __lanyard_say
  return "$1"
}

# Fails: exit code, name, message.
__lanyard_fail() {
  LANYARD_ERROR_NAME=$2 LANYARD_ERROR_MESSAGE=$3 LANYARD_ERROR_RETRYABLE=false LANYARD_ERROR_DATA='{}'
  __lanyard_say
  return "$1"
}

__lanyard_usage() { __lanyard_fail 2 usage "$1"; }

# Prints the error for a person.
__lanyard_say() {
  builtin printf '%s: %s [%s]\n' "$__lanyard_self" "$LANYARD_ERROR_MESSAGE" \
    "$LANYARD_ERROR_NAME${LANYARD_ERROR_CODE:+ ($LANYARD_ERROR_CODE)}" >&2
}

# Sets the variables of the error from the command's exit code and from its last line in __lanyard_out.
__lanyard_tell_error() {
  local +x __lanyard_value='' __lanyard_error='' __lanyard_data='' __lanyard_rest='' __lanyard_raw=''
  LANYARD_ERROR_RETRYABLE=false LANYARD_ERROR_DATA='{}'
  __lanyard_error=${__lanyard_out##*$'\n'}
  case $1:$__lanyard_error in
    *:'{"error":'*) ;;
    124:*)
      LANYARD_ERROR_NAME=callTimeout LANYARD_ERROR_MESSAGE='the agent did not answer in time' LANYARD_ERROR_RETRYABLE=true
      return 0
      ;;
    12[67]:*)
      LANYARD_ERROR_NAME=notInstalled LANYARD_ERROR_MESSAGE="the command ${LANYARD_BIN:-lanyard} can't be run"
      return 0
      ;;
    130:* | 143:*)
      LANYARD_ERROR_NAME=cancelled LANYARD_ERROR_MESSAGE=interrupted
      return 0
      ;;
    *)
      LANYARD_ERROR_NAME=failed LANYARD_ERROR_MESSAGE="the command ended with $1"
      return 0
      ;;
  esac
  __lanyard_member error "$__lanyard_error"
  __lanyard_error=$__lanyard_value
  if __lanyard_member code "$__lanyard_error" -0123456789; then LANYARD_ERROR_CODE=$__lanyard_value; fi
  __lanyard_member message "$__lanyard_error"
  LANYARD_ERROR_MESSAGE=$__lanyard_value
  # What the command would do next, and the agent's last words: sentences of their own.
  if __lanyard_member hints "$__lanyard_error"; then
    __lanyard_rest=${__lanyard_value:1}
    while __lanyard_take && [ -n "$__lanyard_raw" ]; do
      __lanyard_decode
      LANYARD_ERROR_MESSAGE+=" $__lanyard_value"
      __lanyard_rest=${__lanyard_rest#,}
    done
  fi
  __lanyard_member name "$__lanyard_error"
  LANYARD_ERROR_NAME=$__lanyard_value
  __lanyard_member data "$__lanyard_error"
  case $__lanyard_value in '{'*) __lanyard_data=$__lanyard_value ;; *) __lanyard_data='{}' ;; esac
  LANYARD_ERROR_DATA=$__lanyard_data
  if __lanyard_member retryable "$__lanyard_data" t; then LANYARD_ERROR_RETRYABLE=true; fi
  if __lanyard_member reason "$__lanyard_data" '"'; then LANYARD_ERROR_REASON=$__lanyard_value; fi
  if __lanyard_member retryAfterMs "$__lanyard_data" 0123456789; then
    case $__lanyard_value in *[!0-9]*) ;; *) LANYARD_ERROR_RETRY_AFTER_MS=$__lanyard_value ;; esac
  fi
  if __lanyard_member account "$__lanyard_data" '"'; then LANYARD_ERROR_ACCOUNT=$__lanyard_value; fi
  if __lanyard_member remedies "$__lanyard_data" '\['; then
    # Plain words.
    __lanyard_value=${__lanyard_value//[!A-Za-z,]/}
    LANYARD_ERROR_REMEDIES=${__lanyard_value//,/ }
  fi
  if [ -n "$LANYARD_ERROR_CODE" ]; then return 0; fi
  # The names that the other clients use for their own failures.
  case $LANYARD_ERROR_NAME:$LANYARD_ERROR_MESSAGE in
    noAgent:*'none could be started'*) LANYARD_ERROR_NAME=agentStartFailed ;;
    noAgent:*'does not speak its protocol'*) LANYARD_ERROR_NAME=protocolError ;;
    noAgent:*) LANYARD_ERROR_NAME=agentNotRunning LANYARD_ERROR_RETRYABLE=true ;;
    wentAway:*) LANYARD_ERROR_NAME=connectionLost LANYARD_ERROR_RETRYABLE=true ;;
    unsafeSocket:*) LANYARD_ERROR_NAME=untrustedAgent ;;
    interrupted:*) LANYARD_ERROR_NAME=cancelled ;;
    error0:*) LANYARD_ERROR_NAME=protocolError ;;
    usage:'The request is too large'* | usage:'stdin holds more than '*) LANYARD_ERROR_NAME=requestTooLarge ;;
  esac
}

# JSON. The command prints one value on a line, which is well-formed.

# Leaves the member $1 of the object $2 in __lanyard_value: a string decoded, another value as it is. Empty and 1 if it is
# absent or null, or does not begin with one of the characters $3.
__lanyard_member() {
  local +x LC_ALL=C __lanyard_rest=${2#*\{} __lanyard_raw='' __lanyard_key=''
  __lanyard_value=''
  while :; do
    while :; do
      case $__lanyard_rest in [[:space:],]*) __lanyard_rest=${__lanyard_rest:1} ;; *) break ;; esac
    done
    case $__lanyard_rest in '"'*) ;; *) return 1 ;; esac
    __lanyard_take
    __lanyard_key=$__lanyard_raw
    __lanyard_rest=${__lanyard_rest#*:}
    while :; do
      case $__lanyard_rest in [[:space:]]*) __lanyard_rest=${__lanyard_rest:1} ;; *) break ;; esac
    done
    __lanyard_take
    if [ "$__lanyard_key" = "\"$1\"" ]; then break; fi
  done
  case ${3-} in '' | *"${__lanyard_raw:0:1}"*) ;; *) return 1 ;; esac
  case $__lanyard_raw in
    '"'*) __lanyard_decode ;;
    null) return 1 ;;
    *) __lanyard_value=$__lanyard_raw ;;
  esac
}

# Takes a value off __lanyard_rest, into __lanyard_raw. `${x:n}` takes linear time, `${x#"$y"}` quadratic.
__lanyard_take() {
  local +x __lanyard_depth=0 __lanyard_chunk=''
  __lanyard_raw=''
  while :; do
    case $__lanyard_rest in
      '') return 0 ;;
      '"'*)
        __lanyard_raw+='"'
        __lanyard_rest=${__lanyard_rest:1}
        while :; do
          __lanyard_chunk=${__lanyard_rest%%[\"\\]*}
          __lanyard_raw+=$__lanyard_chunk
          __lanyard_rest=${__lanyard_rest:${#__lanyard_chunk}}
          case $__lanyard_rest in
            '') return 0 ;;
            '"'*) break ;;
          esac
          __lanyard_raw+=${__lanyard_rest:0:2}
          __lanyard_rest=${__lanyard_rest:2}
        done
        __lanyard_raw+='"'
        __lanyard_rest=${__lanyard_rest:1}
        if [ "$__lanyard_depth" -eq 0 ]; then return 0; fi
        ;;
      [\{\[]*)
        __lanyard_raw+=${__lanyard_rest:0:1}
        __lanyard_rest=${__lanyard_rest:1}
        __lanyard_depth=$((__lanyard_depth + 1))
        ;;
      [\}\]]*)
        if [ "$__lanyard_depth" -eq 0 ]; then return 0; fi
        __lanyard_raw+=${__lanyard_rest:0:1}
        __lanyard_rest=${__lanyard_rest:1}
        __lanyard_depth=$((__lanyard_depth - 1))
        if [ "$__lanyard_depth" -eq 0 ]; then return 0; fi
        ;;
      ,*)
        if [ "$__lanyard_depth" -eq 0 ]; then return 0; fi
        __lanyard_raw+=,
        __lanyard_rest=${__lanyard_rest:1}
        ;;
      *)
        __lanyard_chunk=${__lanyard_rest%%[\"\{\[\}\],]*}
        __lanyard_raw+=$__lanyard_chunk
        __lanyard_rest=${__lanyard_rest:${#__lanyard_chunk}}
        ;;
    esac
  done
}

# Decodes the string in __lanyard_raw into __lanyard_value.
__lanyard_decode() {
  local +x __lanyard_rest=${__lanyard_raw:1:${#__lanyard_raw}-2} __lanyard_chunk='' __lanyard_code=0
  __lanyard_value=''
  while :; do
    __lanyard_chunk=${__lanyard_rest%%\\*}
    __lanyard_value+=$__lanyard_chunk
    __lanyard_rest=${__lanyard_rest:${#__lanyard_chunk}}
    case $__lanyard_rest in
      '') return 0 ;;
      \\n*) __lanyard_value+=$'\n' ;;
      \\r*) __lanyard_value+=$'\r' ;;
      \\t*) __lanyard_value+=$'\t' ;;
      \\b*) __lanyard_value+=$'\b' ;;
      \\f*) __lanyard_value+=$'\f' ;;
      \\u[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f]*)
        __lanyard_code=$((16#${__lanyard_rest:2:4}))
        __lanyard_rest=${__lanyard_rest:4}
        # A pair of surrogates is one character. `:2` below takes the rest of the escape.
        case $__lanyard_rest in
          ??\\u[Dd][CcDdEeFf]*)
            if [ "$__lanyard_code" -ge 55296 ] && [ "$__lanyard_code" -le 56319 ]; then
              __lanyard_code=$((65536 + (__lanyard_code - 55296) * 1024 + 16#${__lanyard_rest:4:4} - 56320))
              __lanyard_rest=${__lanyard_rest:6}
            fi
            ;;
        esac
        __lanyard_character
        ;;
      *) __lanyard_value+=${__lanyard_rest:1:1} ;;
    esac
    __lanyard_rest=${__lanyard_rest:2}
  done
}

# Adds the character __lanyard_code in UTF-8. A variable holds no null byte: U+FFFD stands for it.
__lanyard_character() {
  local +x __lanyard_bytes='' __lanyard_byte=''
  if [ "$__lanyard_code" -eq 0 ]; then __lanyard_code=65533; fi
  if [ "$__lanyard_code" -lt 128 ]; then
    set -- "$__lanyard_code"
  elif [ "$__lanyard_code" -lt 2048 ]; then
    set -- $((192 + __lanyard_code / 64)) $((128 + __lanyard_code % 64))
  elif [ "$__lanyard_code" -lt 65536 ]; then
    set -- $((224 + __lanyard_code / 4096)) $((128 + __lanyard_code / 64 % 64)) $((128 + __lanyard_code % 64))
  else
    set -- $((240 + __lanyard_code / 262144)) $((128 + __lanyard_code / 4096 % 64)) \
      $((128 + __lanyard_code / 64 % 64)) $((128 + __lanyard_code % 64))
  fi
  for __lanyard_byte in "$@"; do
    __lanyard_bytes+="\\$((__lanyard_byte / 64))$((__lanyard_byte / 8 % 8))$((__lanyard_byte % 8))"
  done
  # shellcheck disable=SC2059  # Octal escapes alone.
  builtin printf -v __lanyard_bytes "$__lanyard_bytes"
  __lanyard_value+=$__lanyard_bytes
}

# Leaves $1 in __lanyard_value as a string of JSON, which is one of curl's configuration, too.
__lanyard_quote() {
  local +x LC_ALL=C __lanyard_rest=$1 __lanyard_chunk='' __lanyard_first=''
  __lanyard_value='"'
  while :; do
    __lanyard_chunk=${__lanyard_rest%%[\"\\[:cntrl:]]*}
    __lanyard_value+=$__lanyard_chunk
    __lanyard_rest=${__lanyard_rest:${#__lanyard_chunk}}
    if [ -z "$__lanyard_rest" ]; then break; fi
    __lanyard_first=${__lanyard_rest:0:1}
    __lanyard_rest=${__lanyard_rest:1}
    case $__lanyard_first in
      [\"\\]) __lanyard_value+="\\$__lanyard_first" ;;
      *)
        builtin printf -v __lanyard_first '\\u%04x' "'$__lanyard_first"
        __lanyard_value+=$__lanyard_first
        ;;
    esac
  done
  __lanyard_value+='"'
}

# Requests of lanyard_curl.

# True if $1 may stand in a header: printable ASCII without spaces.
__lanyard_is_header() {
  local +x LC_ALL=C
  case $1 in '' | *[![:graph:]]*) return 1 ;; esac
}

# Leaves the origin of a URL in __lanyard_origin, with its port, and what stands behind it in __lanyard_value. 1 for one
# that curl might read differently than this function.
__lanyard_origin_of() {
  local +x LC_ALL=C __lanyard_scheme='' __lanyard_port='' __lanyard_authority='' __lanyard_rest='' __lanyard_tail=''
  local -l __lanyard_host=''
  __lanyard_origin='' __lanyard_value=''
  case $1 in
    [Hh][Tt][Tt][Pp][Ss]://*) __lanyard_scheme=https __lanyard_port=443 ;;
    [Hh][Tt][Tt][Pp]://*) __lanyard_scheme=http __lanyard_port=80 ;;
    *) return 1 ;;
  esac
  case $1 in *[![:graph:]]* | *\\*) return 1 ;; esac
  __lanyard_rest=${1#*://}
  __lanyard_authority=${__lanyard_rest%%[/?#]*}
  __lanyard_rest=${__lanyard_rest:${#__lanyard_authority}}
  case $__lanyard_authority in
    \[*\]*)
      __lanyard_host=${__lanyard_authority%%\]*}]
      case $__lanyard_host in \[*[!0-9A-Fa-f:.]*\]) return 1 ;; esac
      ;;
    *)
      __lanyard_host=${__lanyard_authority%%:*}
      case $__lanyard_host in '' | *[!A-Za-z0-9._-]*) return 1 ;; esac
      ;;
  esac
  __lanyard_tail=${__lanyard_authority:${#__lanyard_host}}
  case $__lanyard_tail in
    '') ;;
    : | :*[!0-9]* | :0*) return 1 ;;
    :*) __lanyard_port=${__lanyard_tail:1} ;;
    *) return 1 ;;
  esac
  __lanyard_origin=$__lanyard_scheme://$__lanyard_host:$__lanyard_port
  if [ "$__lanyard_rest" != / ]; then __lanyard_value=$__lanyard_rest; fi
}

# True for an origin of this machine.
__lanyard_is_loopback() {
  # What is no address, such as 127.999.0.1, would be looked up as a name.
  local +x __lanyard_pattern='(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
  __lanyard_pattern="^https?://(localhost|127(\\.$__lanyard_pattern){3}|\\[::1\\]):[0-9]+\$"
  [[ $1 =~ $__lanyard_pattern ]]
}

# Checks a file that curl sends. One that is not a plain file can be sent only once.
__lanyard_file() {
  case $1 in
    '' | - | .)
      __lanyard_usage "curl can't read a body from stdin here: put it in a file"
      return
      ;;
  esac
  if [ ! -f "$1" ]; then __lanyard_again=''; fi
}

# Reads the answer of `token.get` or `token.reject`.
__lanyard_read_token() {
  __lanyard_member accessToken "$__lanyard_out"
  __lanyard_token=$__lanyard_value
  __lanyard_member fingerprint "$__lanyard_out"
  __lanyard_fingerprint=$__lanyard_value
  # Another account may become the active one meanwhile.
  if [ "$__lanyard_account" = @active ]; then
    __lanyard_member account "$__lanyard_out"
    __lanyard_account=$__lanyard_value
  fi
  __lanyard_member tokenType "$__lanyard_out"
  case $__lanyard_value in [Dd][Pp][Oo][Pp]) __lanyard_type=DPoP ;; *) __lanyard_type=$__lanyard_value ;; esac
  __lanyard_out='' __lanyard_value=''
  if ! __lanyard_is_header "$__lanyard_token" || ! __lanyard_is_header "$__lanyard_type"; then
    __lanyard_fail 3 protocolError 'the agent told no access token'
  fi
}

# Sends the request until it is answered: at most twice for the token, and each time once more for a nonce.
__lanyard_exchange() {
  local +x __lanyard_asked=''
  while :; do
    __lanyard_prove || return
    __lanyard_request || return
    if [ "$LANYARD_HTTP_STATUS" != 401 ]; then break; fi
    # The server wants its nonce in the proof (RFC 9449, section 9): it has not judged the token.
    case $__lanyard_type:$__lanyard_challenge in
      DPoP:*use_dpop_nonce*)
        if [ -n "$__lanyard_asked" ] || [ -z "$__lanyard_nonce" ] || [ -z "$__lanyard_again" ]; then break; fi
        __lanyard_asked=1
        continue
        ;;
    esac
    if [ -n "$__lanyard_rejected" ]; then break; fi
    __lanyard_rejected=1 __lanyard_asked=''
    __lanyard_reject || { __lanyard_told='' && return 1; }
    if [ -z "$__lanyard_again" ]; then break; fi
    __lanyard_read_token || return
  done
  if [ -n "$LANYARD_CURL_EXIT" ]; then __lanyard_fail 1 requestFailed "the server answered $LANYARD_HTTP_STATUS"; fi
}

# Makes the proof for a bound token.
__lanyard_prove() {
  local +x __lanyard_json=''
  __lanyard_proof=''
  if [ "$__lanyard_type" != DPoP ]; then return 0; fi
  __lanyard_quote "$__lanyard_account" && __lanyard_json="{\"account\":$__lanyard_value"
  __lanyard_quote "$__lanyard_method" && __lanyard_json+=",\"method\":$__lanyard_value"
  __lanyard_quote "$__lanyard_url" && __lanyard_json+=",\"url\":$__lanyard_value"
  __lanyard_quote "$__lanyard_fingerprint" && __lanyard_json+=",\"fingerprint\":$__lanyard_value"
  if [ -n "$__lanyard_nonce" ]; then __lanyard_quote "$__lanyard_nonce" && __lanyard_json+=",\"nonce\":$__lanyard_value"; fi
  __lanyard_send "$__lanyard_json}" rpc --json --quiet -- token.proof - || return
  __lanyard_member proof "$__lanyard_out"
  __lanyard_proof=$__lanyard_value
  __lanyard_out='' __lanyard_value=''
  if ! __lanyard_is_header "$__lanyard_proof"; then __lanyard_fail 3 protocolError 'the agent told no proof'; fi
}

# Reports the token, and leaves the answer with the next one in __lanyard_out.
__lanyard_reject() {
  local +x __lanyard_json=''
  __lanyard_quote "$__lanyard_account" && __lanyard_json="{\"account\":$__lanyard_value"
  __lanyard_quote "$__lanyard_fingerprint" && __lanyard_json+=",\"fingerprint\":$__lanyard_value"
  if [ -n "$__lanyard_challenge" ] && [ "${#__lanyard_challenge}" -le 4096 ]; then
    __lanyard_quote "$__lanyard_challenge" && __lanyard_json+=",\"challenge\":$__lanyard_value"
  fi
  __lanyard_send "$__lanyard_json}" rpc --json --quiet -- token.reject -
}

# Has curl send the request once. The token is in its configuration, on stdin.
__lanyard_request() {
  local +x __lanyard_ran=0 __lanyard_config=''
  __lanyard_close
  if ! __lanyard_open; then
    __lanyard_fail 1 requestFailed 'no temporary file can be made for the response'
    return
  fi
  __lanyard_quote "Authorization: $__lanyard_type $__lanyard_token" && __lanyard_config="header = $__lanyard_value"
  if [ -n "$__lanyard_proof" ]; then
    __lanyard_quote "DPoP: $__lanyard_proof" && __lanyard_config+=$'\n'"header = $__lanyard_value"
  fi
  __lanyard_value=''
  # `-q` before all: no file of options. `-` is read before any option could read stdin as a body.
  builtin printf '%s\n' "$__lanyard_config" |
    command curl -q --config - --globoff --proto '=http,https' --no-progress-meter --suppress-connect-headers \
      --dump-header /dev/fd/9 "${__lanyard_curl[@]}" --url "$__lanyard_url" >&"$__lanyard_fd" 9>&"$__lanyard_head" ||
    __lanyard_ran=$?
  __lanyard_config='' LANYARD_CURL_EXIT=''
  __lanyard_read_head
  if [ "$__lanyard_ran" -ne 0 ]; then
    LANYARD_CURL_EXIT=$__lanyard_ran
    # 22: --fail, at a status of 400 or more.
    if [ "$__lanyard_ran" -ne 22 ] || [ -z "$LANYARD_HTTP_STATUS" ]; then
      __lanyard_fail 1 requestFailed "curl ended with $__lanyard_ran"
      # No connection: nothing was sent.
      case $__lanyard_ran in 5 | 6 | 7) LANYARD_ERROR_RETRYABLE=true ;; esac
      return 1
    fi
  fi
  __lanyard_told=1
}

# Reads the status, the challenge and the nonce of the last response.
__lanyard_read_head() {
  local +x LC_ALL=C __lanyard_line=''
  local -l __lanyard_name=''
  LANYARD_HTTP_STATUS='' __lanyard_challenge='' __lanyard_nonce=''
  while IFS= read -r __lanyard_line; do
    __lanyard_line=${__lanyard_line%$'\r'}
    case $__lanyard_line in
      HTTP/*)
        __lanyard_challenge='' __lanyard_nonce=''
        LANYARD_HTTP_STATUS=${__lanyard_line#* }
        LANYARD_HTTP_STATUS=${LANYARD_HTTP_STATUS%% *}
        continue
        ;;
    esac
    __lanyard_name=${__lanyard_line%%:*}
    __lanyard_line=${__lanyard_line#*:}
    while :; do
      case $__lanyard_line in [[:space:]]*) __lanyard_line=${__lanyard_line:1} ;; *) break ;; esac
    done
    case $__lanyard_name in
      www-authenticate) __lanyard_challenge+=${__lanyard_challenge:+, }$__lanyard_line ;;
      dpop-nonce) __lanyard_nonce=$__lanyard_line ;;
    esac
  done </dev/fd/"$__lanyard_head"
}

# Opens two files without names, for the body and the head of a response: nothing of them stays, however this ends.
__lanyard_open() {
  local +x __lanyard_file=''
  __lanyard_file=$(command mktemp -p "${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}" lanyard.XXXXXXXX 2>/dev/null ||
    command mktemp -t lanyard.XXXXXXXX) || return
  exec {__lanyard_fd}<>"$__lanyard_file" && command rm -f -- "$__lanyard_file" || return
  __lanyard_file=$(command mktemp -p "${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}" lanyard.XXXXXXXX 2>/dev/null ||
    command mktemp -t lanyard.XXXXXXXX) || return
  exec {__lanyard_head}<>"$__lanyard_file" && command rm -f -- "$__lanyard_file"
}

__lanyard_close() {
  if [ -n "$__lanyard_fd" ]; then exec {__lanyard_fd}>&-; fi
  if [ -n "$__lanyard_head" ]; then exec {__lanyard_head}>&-; fi
  __lanyard_fd='' __lanyard_head='' __lanyard_told=''
}

# The stream of lanyard_events: reads the lines of `lanyard events`, prints events on descriptor 3, and at the end four
# lines: the exit code, whether the subscription stood, the position, and the error.
__lanyard_follow() {
  local +x __lanyard_line='' __lanyard_code='' __lanyard_stood='' __lanyard_error='' __lanyard_epoch='' __lanyard_number=''
  local +x __lanyard_subscription='' __lanyard_taken=''
  while IFS= read -r __lanyard_line; do
    case $__lanyard_line in
      'exit '*) __lanyard_code=${__lanyard_line#exit } && continue ;;
      '{"error":'*) __lanyard_error=$__lanyard_line && continue ;;
      '{'*) ;;
      *) continue ;;
    esac
    __lanyard_member epoch "$__lanyard_line"
    __lanyard_epoch=$__lanyard_value
    __lanyard_member sequence "$__lanyard_line"
    __lanyard_number=$__lanyard_value
    if [ -z "$__lanyard_stood" ]; then
      __lanyard_stood=begun
      __lanyard_member subscription "$__lanyard_line"
      __lanyard_subscription=$__lanyard_value
      if [ -n "$__lanyard_shown" ]; then builtin printf '%s\n' "$__lanyard_line" >&3 || break; fi
      __lanyard_member gap "$__lanyard_line"
      if [ "$__lanyard_value" != true ] && [ "${__lanyard_since%:*}" = "$__lanyard_epoch" ]; then
        __lanyard_taken=$__lanyard_since
        continue
      fi
      if [ -n "$__lanyard_since" ]; then
        __lanyard_quote "$__lanyard_subscription" && __lanyard_line="{\"subscription\":$__lanyard_value"
        __lanyard_quote "$__lanyard_epoch" && __lanyard_line+=",\"epoch\":$__lanyard_value,\"sequence\":$__lanyard_number"
        __lanyard_line+=",\"type\":\"event.gap\",\"at\":\"$(command date -u +%Y-%m-%dT%H:%M:%S.%3NZ)\",\"data\":{}}"
        builtin printf '%s\n' "$__lanyard_line" >&3 || break
      fi
      __lanyard_since=$__lanyard_epoch:$__lanyard_number
      continue
    fi
    __lanyard_member subscription "$__lanyard_line"
    if [ "$__lanyard_value" != "$__lanyard_subscription" ]; then continue; fi
    # A replay may begin with events that came already.
    if [ "${__lanyard_taken%:*}" = "$__lanyard_epoch" ] && [ "$__lanyard_number" -le "${__lanyard_taken##*:}" ]; then
      continue
    fi
    __lanyard_since=$__lanyard_epoch:$__lanyard_number
    builtin printf '%s\n' "$__lanyard_line" >&3 || break
  done
  builtin printf '%s\n' "${__lanyard_code:-closed}" "$__lanyard_stood" "$__lanyard_since" "${__lanyard_error:-none}"
}
